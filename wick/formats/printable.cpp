#include "wick/formats/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "wick/base/utf8.h"

namespace wick {
namespace {

constexpr size_t kMaxShown = 80;

// Characters that a terminal obeys although they are valid UTF-8: C0, DEL and C1, line and paragraph separators, and those that turn the
// direction of what follows, with which a name can show another one.
bool is_control(char32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

bool is_obeyed(char32_t code) {
  const bool separator = code == 0x2028 || code == 0x2029;
  const bool embedding = code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e);
  const bool isolate = code >= 0x2066 && code <= 0x2069;
  return is_control(code) || separator || embedding || isolate;
}

// Appends what may be shown of the character that `text` begins with; returns its length.
size_t append_shown(std::string_view text, std::string& shown) {
  const DecodedCharacter character = decode_character(text, 0);
  const std::string_view bytes = text.substr(0, character.length);
  if (character.valid && !is_obeyed(character.code)) {
    shown.append(bytes);
  } else {
    for (const char byte : bytes) fmt::format_to(std::back_inserter(shown), "\\x{:02x}", static_cast<uint8_t>(byte));
  }
  return bytes.size();
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown = "'";
  size_t at = 0;
  while (at < text.size() && at < kMaxShown) at += append_shown(text.substr(at), shown);
  if (at < text.size()) shown += "…";
  shown += '\'';
  return shown;
}

std::string printable_name(std::string_view text) {
  std::string quoted = printable(text);
  return std::string_view(quoted).substr(1, quoted.size() - 2) == text ? std::string(text) : quoted;
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

std::string printable(std::span<const std::byte> bytes) {
  return printable(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

}  // namespace wick
