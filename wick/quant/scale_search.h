// The searches for a run's scale that the quantizers share. Their float arithmetic is in the order of ggml's, so that the bytes agree.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace wick::quant {

// The nearest integer, ties to even. Beyond ±4194303 the result stays there, and NaN gives 4194303.
[[nodiscard]] int nearest_integer(float value) noexcept;

// Σ x², added in order.
[[nodiscard]] float sum_of_squares(std::span<const float> values) noexcept;

// The weights of a run's squared errors: importance · √(mean square + x²), the mean being that of the row or block around.
template <size_t kRun>
struct Weights {
  Weights(const float* in, const float* importance, float mean_square) {
    for (size_t index = 0; index < kRun; ++index) values[index] = importance[index] * std::sqrt(mean_square + in[index] * in[index]);
  }
  std::array<float, kRun> values;
};

// value ≈ scale · code - min, with codes from 0 to max_code and min ≥ 0.
struct AffineFit {
  float scale = 0;
  float min = 0;
};

// max_code + first_step, + step, … in `steps` + 1 trials are the rounding scales.
struct AffineSearch {
  int max_code = 0;
  float first_step = 0;
  float step = 0.1f;
  int steps = 0;
  bool absolute = false;  // the error to minimize is |e|, not e²
};

// The search that goes with importance weights.
[[nodiscard]] constexpr AffineSearch weighted_affine_search(int max_code) noexcept {
  return {.max_code = max_code, .first_step = -0.9f, .step = 0.05f, .steps = 36, .absolute = false};
}

// Minimizes Σ weight · error(scale · code - min - value): each trial's codes get their least-squares scale and minimum. At most 32 values.
[[nodiscard]] AffineFit fit_affine(std::span<const float> values, std::span<const float> weights, const AffineSearch& search,
                                   std::span<uint8_t> codes);

// value ≈ scale · (code - levels), with codes from 0 to 2 levels - 1; minimizes Σ weight · error², the weights being value² if none are
// given. Returns the scale (of either sign; 0 for a run of zeros).
[[nodiscard]] float fit_symmetric(std::span<const float> values, std::span<const float> weights, int levels, std::span<uint8_t> codes);

// The same with weights value², by moving one code after another while that helps. At most 32 values.
[[nodiscard]] float fit_symmetric_stepwise(std::span<const float> values, int levels, std::span<uint8_t> codes);

// value ≈ scale · code for values ≥ 0, with codes from 0 to max_code: a search for the rounding scale, then code after code.
[[nodiscard]] float fit_positive(std::span<const float> values, std::span<const float> weights, int max_code, std::span<uint8_t> codes);

// Runs whose largest magnitude is below this count as zeros.
inline constexpr float kZeroRun = 1e-15f;

}  // namespace wick::quant
