// Upper and lower case of ASCII letters, whatever the locale; other bytes stay.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace wick {

[[nodiscard]] inline std::string ascii_lowercase(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

[[nodiscard]] inline std::string ascii_uppercase(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return result;
}

}  // namespace wick
