// The codebooks of the IQ formats: lists of points whose digits are the magnitudes of eight or four neighbouring elements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wick/quant/codebook_points.h"

namespace wick::quant {

// Magnitudes of a codebook point's digits.
inline constexpr std::array<int8_t, 3> kMagnitudesIQ2 = {8, 25, 43};
inline constexpr std::array<int8_t, 3> kValuesIQ1 = {-1, 0, 1};
inline constexpr std::array<int8_t, 8> kMagnitudesIQ3_XXS = {4, 12, 20, 28, 36, 44, 52, 62};
inline constexpr std::array<int8_t, 8> kMagnitudesIQ3_S = {1, 3, 5, 7, 9, 11, 13, 15};

// The shift of each IQ1 element, up or down, in units of its scale.
inline constexpr float kShiftIQ1 = 0.125f;

// The points as they are read: kLanes values each.
template <int kLanes, size_t kPoints, size_t kDigits>
constexpr auto expand_points(const std::array<uint16_t, kPoints>& points, const std::array<int8_t, kDigits>& values) {
  constexpr int kBits = 16 / kLanes > 2 ? 3 : 2;
  std::array<std::array<int8_t, kLanes>, kPoints> expanded{};
  for (size_t point = 0; point < kPoints; ++point) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      expanded[point][lane] = values[(points[point] >> (kBits * static_cast<int>(lane))) & ((1 << kBits) - 1)];
    }
  }
  return expanded;
}

// The eight signs whose first seven are given: their number of set bits is even.
[[nodiscard]] constexpr uint8_t complete_signs(uint32_t seven) noexcept {
  uint32_t parity = seven & 127;
  parity ^= parity >> 4;
  parity ^= parity >> 2;
  parity ^= parity >> 1;
  return static_cast<uint8_t>((seven & 127) | ((parity & 1) << 7));
}

}  // namespace wick::quant
