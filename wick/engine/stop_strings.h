// StopStrings watches a text that comes in pieces for strings that end it, also where one is split over pieces.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

class StopStrings {
 public:
  // Errors: invalid_argument for an empty string or one that is no UTF-8.
  explicit StopStrings(std::vector<std::string> strings);

  // Adds a piece and returns the text that is now known to stand before any stop string. What may be the beginning of one is held
  // back. Nothing more may be added once matched() is set.
  [[nodiscard]] std::string push(std::string_view piece);
  // Text held back at the end: it ended without a stop string.
  [[nodiscard]] std::string finish();
  // The string that was found: where several were, the one that begins first, and of these the longest.
  [[nodiscard]] const std::optional<std::string>& matched() const noexcept { return matched_; }

 private:
  [[nodiscard]] size_t held_back_bytes() const noexcept;

  std::vector<std::string> strings_;
  std::string pending_;
  std::optional<std::string> matched_;
};

}  // namespace wick
