#include "quant/scale_search.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/error.h"

namespace wick::quant {
namespace {

constexpr size_t kMaxRun = 32;
constexpr float kStep = 0.1f;

float weighted_error(std::span<const float> values, std::span<const float> weights, std::span<const uint8_t> codes, float scale, float offset) {
  float error = 0;
  for (size_t index = 0; index < values.size(); ++index) {
    const float difference = scale * static_cast<float>(codes[index]) + offset - values[index];
    error += weights[index] * (difference * difference);
  }
  return error;
}

void round_codes(std::span<const float> values, float inverse_scale, float offset, int max_code, std::span<uint8_t> codes) {
  for (size_t index = 0; index < values.size(); ++index) {
    codes[index] = static_cast<uint8_t>(std::clamp(nearest_integer(inverse_scale * (values[index] - offset)), 0, max_code));
  }
}

// The sums of one trial of the symmetric search: Σ w·x·l and Σ w·l² with w = x².
struct SymmetricSums {
  float value_code = 0;
  float code_code = 0;
};

int signed_code(float value, int levels) { return std::clamp(nearest_integer(value), -levels, levels - 1); }

SymmetricSums symmetric_sums(std::span<const float> values, float inverse_scale, int levels) {
  SymmetricSums sums;
  for (const float value : values) {
    const auto code = static_cast<float>(signed_code(inverse_scale * value, levels));
    const float weight = value * value;
    sums.value_code += weight * value * code;
    sums.code_code += weight * code * code;
  }
  return sums;
}

}  // namespace

int nearest_integer(float value) noexcept {
  constexpr float kLimit = 4194303.0f;
  const float below = value < kLimit ? value : kLimit;  // NaN becomes the limit
  const float inside = below > -kLimit ? below : -kLimit;
  // Adding 1.5 · 2^23 leaves the integer in the mantissa's low bits, rounded as the processor rounds.
  const auto bits = std::bit_cast<uint32_t>(inside + 12582912.0f);
  return static_cast<int>(bits & 0x007fffffu) - 0x00400000;
}

AffineFit fit_affine(std::span<const float> values, std::span<const float> weights, int max_code, float first_step, int steps,
                     std::span<uint8_t> codes) {
  WICK_ASSERT(!values.empty() && values.size() <= kMaxRun && weights.size() == values.size() && codes.size() == values.size());
  float low = values[0];
  float high = values[0];
  float weight_sum = weights[0];
  float value_sum = weight_sum * values[0];
  for (size_t index = 1; index < values.size(); ++index) {
    low = values[index] < low ? values[index] : low;
    high = values[index] > high ? values[index] : high;
    weight_sum += weights[index];
    value_sum += weights[index] * values[index];
  }
  low = low > 0 ? 0 : low;
  if (high == low) {
    std::fill(codes.begin(), codes.end(), uint8_t{0});
    return {.scale = 0, .min = -low};
  }
  const float range = high - low;
  const auto top = static_cast<float>(max_code);
  float inverse_scale = top / range;
  AffineFit best{.scale = 1 / inverse_scale, .min = -low};
  round_codes(values, inverse_scale, low, max_code, codes);
  float best_error = weighted_error(values, weights, codes, best.scale, low);

  // Every trial rounds against the offset that is best so far, as ggml's search does.
  float offset = low;
  std::array<uint8_t, kMaxRun> trial_storage{};
  const std::span<uint8_t> trial(trial_storage.data(), values.size());
  for (int step = 0; step <= steps; ++step) {
    inverse_scale = (first_step + kStep * static_cast<float>(step) + top) / (high - offset);
    round_codes(values, inverse_scale, offset, max_code, trial);
    float code_sum = 0;
    float square_sum = 0;
    float product_sum = 0;
    for (size_t index = 0; index < values.size(); ++index) {
      const auto code = static_cast<float>(trial[index]);
      const float weighted = weights[index] * code;
      code_sum += weighted;
      square_sum += weighted * code;
      product_sum += weighted * values[index];
    }
    const float determinant = weight_sum * square_sum - code_sum * code_sum;
    if (!(determinant > 0)) continue;
    float scale = (weight_sum * product_sum - value_sum * code_sum) / determinant;
    float trial_offset = (square_sum * value_sum - code_sum * product_sum) / determinant;
    if (trial_offset > 0) {
      trial_offset = 0;
      scale = product_sum / square_sum;
    }
    const float error = weighted_error(values, weights, trial, scale, trial_offset);
    if (error < best_error) {
      std::copy(trial.begin(), trial.end(), codes.begin());
      best_error = error;
      best = {.scale = scale, .min = -trial_offset};
      offset = trial_offset;
    }
  }
  return best;
}

float fit_symmetric(std::span<const float> values, int levels, std::span<uint8_t> codes) {
  float extreme = 0;
  float magnitude = 0;
  for (const float value : values) {
    if (std::fabs(value) > magnitude) {
      magnitude = std::fabs(value);
      extreme = value;
    }
  }
  const auto write_codes = [&](float inverse_scale) {
    for (size_t index = 0; index < values.size(); ++index) {
      codes[index] = static_cast<uint8_t>(levels + signed_code(inverse_scale * values[index], levels));
    }
  };
  if (magnitude < kZeroRun) {
    std::fill(codes.begin(), codes.end(), uint8_t{0});
    return 0;
  }
  // The value of the largest magnitude becomes the code -levels, which has no positive counterpart.
  float inverse_scale = static_cast<float>(-levels) / extreme;
  write_codes(inverse_scale);
  SymmetricSums sums = symmetric_sums(values, inverse_scale, levels);
  float scale = sums.code_code != 0 ? sums.value_code / sums.code_code : 0;
  float best = scale * sums.value_code;
  for (int step = -9; step <= 9; ++step) {
    if (step == 0) continue;
    inverse_scale = -(static_cast<float>(levels) + kStep * static_cast<float>(step)) / extreme;
    sums = symmetric_sums(values, inverse_scale, levels);
    if (sums.code_code > 0 && sums.value_code * sums.value_code > best * sums.code_code) {
      write_codes(inverse_scale);
      scale = sums.value_code / sums.code_code;
      best = scale * sums.value_code;
    }
  }
  return scale;
}

}  // namespace wick::quant
