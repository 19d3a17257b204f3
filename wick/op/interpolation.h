// Where the pixels of a resized image come from: the definition that upsample2d's reference and its implementations share.
#pragma once

#include <algorithm>
#include <cstdint>

namespace wick {

// The source of output pixel `at`: floor(at · from / to), in whole numbers, so that no rounded quotient moves it.
[[nodiscard]] constexpr int64_t nearest_source(int64_t at, int64_t from, int64_t to) noexcept { return at * from / to; }

// Output = (1 - weight) · input[low] + weight · input[high].
struct InterpolationTap {
  int64_t low;
  int64_t high;
  double weight;
};

// PyTorch's area_pixel_compute_source_index: step · at with corners aligned, else the centres of pixels are: step · (at + 1/2) - 1/2,
// not below 0.
[[nodiscard]] constexpr InterpolationTap interpolation_tap(int64_t at, int64_t extent, double step, bool align_corners) noexcept {
  const auto place = static_cast<double>(at);
  const double source = align_corners ? step * place : std::max(0.0, step * (place + 0.5) - 0.5);
  const int64_t low = std::min(static_cast<int64_t>(source), extent - 1);
  const int64_t high = std::min(low + 1, extent - 1);
  return {low, high, std::clamp(source - static_cast<double>(low), 0.0, 1.0)};
}

}  // namespace wick
