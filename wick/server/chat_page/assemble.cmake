# Makes the chat page one file, compresses it, and writes it as C++ data with its content security policy:
#
#   cmake -D SOURCE=FOLDER -D OUTPUT=FILE.cpp [-D MARKED=FILE [-D KATEX=FILE]] -P assemble.cmake
#
# The page is written next to OUTPUT, as chat_page.html and compressed as chat_page.html.gz. Without the libraries it has plain Markdown.
cmake_minimum_required(VERSION 3.19)

function(read_all result)
  set(all "")
  foreach(file IN LISTS ARGN)
    file(READ "${file}" text)
    string(APPEND all "${text}\n")
  endforeach()
  set(${result} "${all}" PARENT_SCOPE)
endfunction()

# 'sha256-…' of a script or style, as a Content-Security-Policy writes it: base64 of the digest.
function(policy_hash result text)
  string(SHA256 hex "${text}")
  set(alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  set(encoded "")
  foreach(at RANGE 0 60 6)
    string(SUBSTRING "${hex}0000" ${at} 6 digits)
    math(EXPR bits "0x${digits}")
    foreach(shift 18 12 6 0)
      math(EXPR index "(${bits} >> ${shift}) & 63")
      string(SUBSTRING ${alphabet} ${index} 1 character)
      string(APPEND encoded ${character})
    endforeach()
  endforeach()
  # 32 bytes are ten groups of three and one of two, whose last character is a filler.
  string(SUBSTRING ${encoded} 0 43 encoded)
  set(${result} "'sha256-${encoded}='" PARENT_SCOPE)
endfunction()

set(libraries "")
set(licences "Wick: MIT or Apache-2.0")
if(MARKED)
  read_all(libraries "${MARKED}" ${KATEX})
  file(READ "${SOURCE}/licences.txt" licences)
endif()
set(scripts dom store conversation server plain_markdown highlight markdown answers message_view history composer settings main)
list(TRANSFORM scripts PREPEND "${SOURCE}/")
list(TRANSFORM scripts APPEND .js)
read_all(script ${scripts})
set(script "\"use strict\";\n${script}")
read_all(style "${SOURCE}/style.css")
file(READ "${SOURCE}/page.html" page)
foreach(text IN ITEMS libraries script style)
  if("${${text}}" MATCHES "</(script|style)")
    message(FATAL_ERROR "the chat page's ${text} would end its element early: ${CMAKE_MATCH_0}")
  endif()
  policy_hash(${text}_hash "${${text}}")
endforeach()
# The libraries last: they may hold such a sign too.
string(REPLACE "@LICENCES@" "${licences}" page "${page}")
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
string(REPLACE "@LIBRARIES@" "${libraries}" page "${page}")
set(policy "default-src 'none'; style-src ${style_hash}; script-src ${libraries_hash} ${script_hash}; connect-src 'self'; img-src data:; ")
string(APPEND policy "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")

get_filename_component(folder "${OUTPUT}" DIRECTORY)
file(WRITE "${folder}/chat_page.html" "${page}")
file(ARCHIVE_CREATE OUTPUT "${folder}/chat_page.html.gz" PATHS "${folder}/chat_page.html" FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9)
file(READ "${folder}/chat_page.html.gz" bytes HEX)
# Without the time in gzip's header (RFC 1952, bytes 4 to 7): the same sources make the same program.
string(SUBSTRING "${bytes}" 0 8 begin)
string(SUBSTRING "${bytes}" 16 -1 end)
set(bytes "${begin}00000000${end}")
string(LENGTH "${bytes}" size)
math(EXPR size "${size} / 2")
string(REGEX REPLACE "(................................................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE "${OUTPUT}" "#include \"wick/server/chat_page_data.h\"

namespace wick::server {
namespace {

constexpr unsigned char kBytes[${size}] = {
${bytes}
};

}  // namespace

const std::span<const unsigned char> kChatPage = kBytes;
const char* const kChatPagePolicy = \"${policy}\";

}  // namespace wick::server
")
