#include "wick/base/terminal_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

#include "wick/base/utf8.h"

namespace wick {
namespace {

// C0, DEL and C1.
bool is_control(char32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

// Characters that a terminal obeys although they are valid UTF-8: controls, line and paragraph separators, and those that turn the
// direction of what follows, with which a name can show another one.
bool is_obeyed(char32_t code) {
  const bool separator = code == 0x2028 || code == 0x2029;
  const bool embedding = code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e);
  const bool isolate = code >= 0x2066 && code <= 0x2069;
  return is_control(code) || separator || embedding || isolate;
}

void append_escaped(char byte, std::string& shown) {
  switch (byte) {
    case '\n': shown += "\\n"; break;
    case '\r': shown += "\\r"; break;
    case '\t': shown += "\\t"; break;
    default: fmt::format_to(std::back_inserter(shown), "\\x{:02x}", static_cast<uint8_t>(byte));
  }
}

}  // namespace

size_t append_shown(std::string_view text, std::string& shown) {
  const DecodedCharacter character = decode_character(text, 0);
  const std::string_view bytes = text.substr(0, character.length);
  if (character.valid && !is_obeyed(character.code)) {
    shown.append(bytes);
  } else {
    for (const char byte : bytes) append_escaped(byte, shown);
  }
  return bytes.size();
}

std::string without_controls(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      shown += text[at++];
    } else {
      at += append_shown(text.substr(at), shown);
    }
  }
  return shown;
}

std::string on_one_line(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  for (size_t at = 0; at < text.size();) at += append_shown(text.substr(at), line);
  return line;
}

std::string answer_without_controls(std::string_view answer) {
  std::string shown;
  shown.reserve(answer.size());
  for (size_t at = 0; at < answer.size();) {
    const DecodedCharacter character = decode_character(answer, at);
    const bool shows = character.valid && (!is_control(character.code) || character.code == '\n' || character.code == '\t');
    if (shows) {
      shown.append(answer.substr(at, character.length));
      at += character.length;
    } else {
      at += append_shown(answer.substr(at), shown);
    }
  }
  return shown;
}

std::string json_without_controls(std::string_view json) {
  std::string shown;
  shown.reserve(json.size());
  for (size_t at = 0; at < json.size();) {
    const DecodedCharacter character = decode_character(json, at);
    if (json[at] == '\n' || !character.valid || !is_obeyed(character.code)) {
      shown.append(json.substr(at, character.length));
    } else {
      fmt::format_to(std::back_inserter(shown), "\\u{:04x}", static_cast<uint32_t>(character.code));
    }
    at += character.length;
  }
  return shown;
}

}  // namespace wick
