// The searches for a run's scale that the quantizers share. Their float arithmetic is in the order of ggml's, so that the bytes agree.
#pragma once

#include <cstdint>
#include <span>

namespace wick::quant {

// The nearest integer, ties to even. Beyond ±4194303 the result stays there, and NaN gives 4194303.
[[nodiscard]] int nearest_integer(float value) noexcept;

// value ≈ scale · code - min, with codes from 0 to max_code and min ≥ 0.
struct AffineFit {
  float scale = 0;
  float min = 0;
};

// Minimizes Σ weight · (scale · code - min - value)²: first_step, first_step + 0.1, … in `steps` + 1 trials are added to max_code for
// the rounding scale, and each trial's codes get their least-squares scale and minimum. At most 32 values.
[[nodiscard]] AffineFit fit_affine(std::span<const float> values, std::span<const float> weights, int max_code, float first_step, int steps,
                                   std::span<uint8_t> codes);

// value ≈ scale · (code - levels), with codes from 0 to 2 levels - 1; minimizes Σ value² · error². Returns the scale (of either sign;
// 0 for a run of zeros).
[[nodiscard]] float fit_symmetric(std::span<const float> values, int levels, std::span<uint8_t> codes);

// Runs whose largest magnitude is below this count as zeros.
inline constexpr float kZeroRun = 1e-15f;

}  // namespace wick::quant
