#include "quant/scale_search.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>

#include "base/error.h"

namespace wick::quant {
namespace {

constexpr size_t kMaxRun = 32;
constexpr float kStep = 0.1f;

float weighted_error(std::span<const float> values, std::span<const float> weights, std::span<const uint8_t> codes, float scale,
                     float offset) {
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

// What does not depend on the codes: Σ w and Σ w·x.
struct AffineSums {
  float weight = 0;
  float value = 0;
};

struct Line {
  float scale = 0;
  float offset = 0;  // ≤ 0
};

// The line through the codes that minimizes the weighted square error; none if all codes are one.
std::optional<Line> least_squares(std::span<const float> values, std::span<const float> weights, std::span<const uint8_t> codes,
                                  AffineSums sums) {
  float code_sum = 0;
  float square_sum = 0;
  float product_sum = 0;
  for (size_t index = 0; index < values.size(); ++index) {
    const auto code = static_cast<float>(codes[index]);
    const float weighted = weights[index] * code;
    code_sum += weighted;
    square_sum += weighted * code;
    product_sum += weighted * values[index];
  }
  const float determinant = sums.weight * square_sum - code_sum * code_sum;
  if (!(determinant > 0)) return std::nullopt;
  const float offset = (square_sum * sums.value - code_sum * product_sum) / determinant;
  if (offset > 0) return Line{.scale = product_sum / square_sum, .offset = 0};
  return Line{.scale = (sums.weight * product_sum - sums.value * code_sum) / determinant, .offset = offset};
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
  AffineSums sums{.weight = weights[0], .value = weights[0] * values[0]};
  float low = values[0];
  float high = values[0];
  for (size_t index = 1; index < values.size(); ++index) {
    low = values[index] < low ? values[index] : low;
    high = values[index] > high ? values[index] : high;
    sums.weight += weights[index];
    sums.value += weights[index] * values[index];
  }
  low = low > 0 ? 0 : low;
  if (high == low) {
    std::fill(codes.begin(), codes.end(), uint8_t{0});
    return {.scale = 0, .min = -low};
  }
  const auto top = static_cast<float>(max_code);
  float inverse_scale = top / (high - low);
  float scale = 1 / inverse_scale;
  round_codes(values, inverse_scale, low, max_code, codes);
  float best_error = weighted_error(values, weights, codes, scale, low);
  std::array<uint8_t, kMaxRun> trial_storage{};
  const std::span<uint8_t> trial(trial_storage.data(), values.size());
  for (int step = 0; step <= steps; ++step) {
    // Every trial rounds against the offset that is best so far, as ggml's search does.
    inverse_scale = (first_step + kStep * static_cast<float>(step) + top) / (high - low);
    round_codes(values, inverse_scale, low, max_code, trial);
    const auto line = least_squares(values, weights, trial, sums);
    if (!line) continue;
    const float error = weighted_error(values, weights, trial, line->scale, line->offset);
    if (error < best_error) {
      std::copy(trial.begin(), trial.end(), codes.begin());
      best_error = error;
      scale = line->scale;
      low = line->offset;
    }
  }
  return {.scale = scale, .min = -low};
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
