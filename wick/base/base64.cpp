#include "wick/base/base64.h"

#include <cstdint>

namespace wick {
namespace {

int base64_digit(char letter) noexcept {
  if (letter >= 'A' && letter <= 'Z') return letter - 'A';
  if (letter >= 'a' && letter <= 'z') return letter - 'a' + 26;
  if (letter >= '0' && letter <= '9') return letter - '0' + 52;
  return letter == '+' ? 62 : letter == '/' ? 63 : -1;
}

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  std::string bytes;
  uint32_t bits = 0;
  for (size_t index = 0; index < text.size() - padding; ++index) {
    const int digit = base64_digit(text[index]);
    if (digit < 0) return std::nullopt;
    bits = (bits << 6) | static_cast<uint32_t>(digit);
    if (index % 4 == 3) {
      for (const int shift : {16, 8, 0}) bytes.push_back(static_cast<char>(bits >> shift));
      bits = 0;
    }
  }
  if (padding == 1) {
    bytes.push_back(static_cast<char>(bits >> 10));
    bytes.push_back(static_cast<char>(bits >> 2));
  } else if (padding == 2) {
    bytes.push_back(static_cast<char>(bits >> 4));
  }
  return bytes;
}

std::string encode_base64(std::string_view bytes) {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    const size_t count = bytes.size() - i < 3 ? bytes.size() - i : 3;
    for (size_t j = 0; j < 3; ++j) group = group << 8U | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    for (size_t j = 0; j < 4; ++j) text += j <= count ? kDigits[group >> (18 - 6 * j) & 63U] : '=';
  }
  return text;
}

}  // namespace wick
