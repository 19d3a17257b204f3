#include "wick/formats/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace wick {
namespace {

constexpr size_t kMaxShown = 80;

// Bytes of the UTF-8 character that starts text, or 0 if none does.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t index) { return static_cast<uint8_t>(text[index]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (size_t index = 1; index < length; ++index) {
    if ((byte(index) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  const bool no_character = (lead == 0xed && byte(1) >= 0xa0) || (lead == 0xf4 && byte(1) >= 0x90);
  return overlong || no_character ? 0 : length;
}

// Characters that a terminal obeys although they are valid UTF-8: C0, DEL and C1, line and paragraph separators, and those that turn the
// direction of what follows, with which a name can show another one.
bool is_obeyed(std::string_view character) {
  const auto byte = [&](size_t index) { return static_cast<uint8_t>(character[index]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7f;
  if (character.size() == 2) return byte(0) == 0xc2 && byte(1) < 0xa0;
  if (character.size() != 3 || byte(0) != 0xe2) return false;
  const bool separators = byte(1) == 0x80 && (byte(2) == 0xa8 || byte(2) == 0xa9);
  const bool embeddings = byte(1) == 0x80 && (byte(2) == 0x8e || byte(2) == 0x8f || (byte(2) >= 0xaa && byte(2) <= 0xae));
  const bool isolates = byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9;
  return separators || embeddings || isolates;
}

// Appends what may be shown of the character that `text` begins with; returns its length.
size_t append_shown(std::string_view text, std::string& shown) {
  const size_t length = utf8_length(text);
  if (length > 0 && !is_obeyed(text.substr(0, length))) {
    shown.append(text.substr(0, length));
    return length;
  }
  const size_t bytes = std::max<size_t>(length, 1);
  for (const char byte : text.substr(0, bytes)) fmt::format_to(std::back_inserter(shown), "\\x{:02x}", static_cast<uint8_t>(byte));
  return bytes;
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

std::string json_without_controls(std::string_view json) {
  std::string shown;
  shown.reserve(json.size());
  for (size_t at = 0; at < json.size();) {
    const std::string_view rest = json.substr(at);
    const size_t length = std::max<size_t>(utf8_length(rest), 1);
    const auto byte = [&](size_t index) { return static_cast<unsigned>(static_cast<uint8_t>(rest[index])); };
    if (rest.front() == '\n' || !is_obeyed(rest.substr(0, length))) {
      shown.append(rest.substr(0, length));
    } else if (length < 3) {
      fmt::format_to(std::back_inserter(shown), "\\u{:04x}", length == 1 ? byte(0) : (byte(0) & 31) << 6 | (byte(1) & 63));
    } else {
      fmt::format_to(std::back_inserter(shown), "\\u{:04x}", (byte(0) & 15) << 12 | (byte(1) & 63) << 6 | (byte(2) & 63));
    }
    at += length;
  }
  return shown;
}

std::string printable(std::span<const std::byte> bytes) {
  return printable(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

}  // namespace wick
