#include "wick/cli/text_input.h"

#include <charconv>
#include <fstream>
#include <istream>
#include <system_error>

#include "wick/base/fail.h"

namespace wick {

namespace {

// More than any model reads; an endless stream ends here, not when memory does.
constexpr size_t kMaxText = size_t{1} << 30;

// `name` is what the text comes from, for messages.
std::string read_all(std::istream& in, std::string_view name) {
  std::string text;
  try {
    std::string piece(size_t{1} << 16, '\0');
    do {
      in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
      text.append(piece, 0, static_cast<size_t>(in.gcount()));
    } while (in && text.size() <= kMaxText);
  } catch (const std::ios_base::failure&) {  // a stream buffer that cannot be read throws through some streams
    in.setstate(std::ios_base::badbit);
  }
  if (in.bad()) fail(ErrorCode::io, "{}: cannot be read; is it a folder, closed, or not yours to read?", name);
  if (text.size() > kMaxText) fail(ErrorCode::invalid_argument, "{}: more than {} bytes of text; give less", name, kMaxText);
  return text;
}

}  // namespace

std::string read_text_file(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) fail(ErrorCode::not_found, "{}: no such file; check the path", path.string());
  if (std::filesystem::is_directory(status)) fail(ErrorCode::io, "{}: a folder; name a file", path.string());
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(ErrorCode::io, "{}: cannot be opened for reading", path.string());
  return read_all(file, path.string());
}

std::string read_standard_input(const Console& console, std::string_view remedy) {
  if (console.input_is_terminal) fail(ErrorCode::invalid_argument, "nothing to read: {}, or write to standard input", remedy);
  return read_all(console.in, "standard input");
}

std::vector<TokenId> parse_tokens(std::string_view text, std::string_view source) {
  static constexpr std::string_view kBlank = " \t\r\n";
  const auto strip = [](std::string_view part) {
    const size_t begin = part.find_first_not_of(kBlank);
    return begin == std::string_view::npos ? std::string_view() : part.substr(begin, part.find_last_not_of(kBlank) - begin + 1);
  };
  std::string_view rest = strip(text);
  if (rest.starts_with('[')) {
    if (!rest.ends_with(']')) fail(ErrorCode::invalid_argument, "{}: a list that begins with '[' must end with ']'", source);
    rest = strip(rest.substr(1, rest.size() - 2));
  }
  std::vector<TokenId> tokens;
  while (!rest.empty()) {
    TokenId token = 0;
    const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), token);
    if (error != std::errc()) {
      fail(ErrorCode::invalid_argument, "{}: no token id at byte {}: write ids like 0,5,9", source, rest.data() - text.data());
    }
    tokens.push_back(token);
    const std::string_view after(stop, static_cast<size_t>(rest.data() + rest.size() - stop));
    rest = strip(after);
    if (rest.starts_with(',')) {
      rest = strip(rest.substr(1));
      if (rest.empty()) fail(ErrorCode::invalid_argument, "{}: no token id after a comma", source);
    } else if (!rest.empty() && rest.data() == after.data()) {
      fail(ErrorCode::invalid_argument, "{}: '{}' at byte {} is no separator: write ids like 0,5,9", source, rest.front(),
           rest.data() - text.data());
    }
  }
  return tokens;
}

}  // namespace wick
