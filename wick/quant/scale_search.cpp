#include "wick/quant/scale_search.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>

#include "wick/base/fail.h"

namespace wick::quant {
namespace {

constexpr size_t kMaxRun = 32;
constexpr float kStep = 0.1f;  // of the symmetric searches
constexpr int kPasses = 5;     // of the searches that move one code after another

float weighted_error(std::span<const float> values, std::span<const float> weights, std::span<const uint8_t> codes, float scale,
                     float offset, bool absolute) {
  float error = 0;
  for (size_t index = 0; index < values.size(); ++index) {
    const float difference = scale * static_cast<float>(codes[index]) + offset - values[index];
    error += weights[index] * (absolute ? std::fabs(difference) : difference * difference);
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

// The sums of one trial of the symmetric search: Σ w·x·l and Σ w·l².
struct SymmetricSums {
  float value_code = 0;
  float code_code = 0;

  void add(float weight, float value, float code) {
    value_code += weight * value * code;
    code_code += weight * code * code;
  }
  // Whether the scale that the other sums give leaves less error.
  [[nodiscard]] bool worse_than(const SymmetricSums& other) const {
    return other.value_code * other.value_code * code_code > value_code * value_code * other.code_code;
  }
  [[nodiscard]] float scale() const { return code_code > 0 ? value_code / code_code : 0.0f; }
};

float weight_of(std::span<const float> values, std::span<const float> weights, size_t index) {
  return weights.empty() ? values[index] * values[index] : weights[index];
}

int signed_code(float value, int levels) { return std::clamp(nearest_integer(value), -levels, levels - 1); }

SymmetricSums symmetric_sums(std::span<const float> values, std::span<const float> weights, float inverse_scale, int levels) {
  SymmetricSums sums;
  for (size_t index = 0; index < values.size(); ++index) {
    const float value = values[index];
    sums.add(weight_of(values, weights, index), value, static_cast<float>(signed_code(inverse_scale * value, levels)));
  }
  return sums;
}

// The value of the largest magnitude; 0 if that is below kZeroRun.
float extreme_of(std::span<const float> values) {
  float extreme = 0;
  float magnitude = 0;
  for (const float value : values) {
    if (std::fabs(value) > magnitude) {
      magnitude = std::fabs(value);
      extreme = value;
    }
  }
  return magnitude < kZeroRun ? 0.0f : extreme;
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

float sum_of_squares(std::span<const float> values) noexcept {
  float sum = 0;
  for (const float value : values) sum += value * value;
  return sum;
}

AffineFit fit_affine(std::span<const float> values, std::span<const float> weights, const AffineSearch& search, std::span<uint8_t> codes) {
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
  if (high <= low) {
    std::fill(codes.begin(), codes.end(), uint8_t{0});
    return {.scale = 0, .min = -low};
  }
  const auto top = static_cast<float>(search.max_code);
  const float range = high - low;
  float inverse_scale = top / range;
  float scale = 1 / inverse_scale;
  round_codes(values, inverse_scale, low, search.max_code, codes);
  float best_error = weighted_error(values, weights, codes, scale, low, search.absolute);
  std::array<uint8_t, kMaxRun> trial_storage{};
  const std::span<uint8_t> trial(trial_storage.data(), values.size());
  for (int step = 0; step <= search.steps; ++step) {
    // Every trial rounds against the offset that is best so far, as ggml's search does.
    inverse_scale = (search.first_step + search.step * static_cast<float>(step) + top) / (high - low);
    round_codes(values, inverse_scale, low, search.max_code, trial);
    const auto line = least_squares(values, weights, trial, sums);
    if (!line) continue;
    const float error = weighted_error(values, weights, trial, line->scale, line->offset, search.absolute);
    if (error < best_error) {
      std::copy(trial.begin(), trial.end(), codes.begin());
      best_error = error;
      scale = line->scale;
      low = line->offset;
    }
  }
  return {.scale = scale, .min = -low};
}

float fit_symmetric(std::span<const float> values, std::span<const float> weights, int levels, std::span<uint8_t> codes) {
  const float extreme = extreme_of(values);
  const auto write_codes = [&](float inverse_scale) {
    for (size_t index = 0; index < values.size(); ++index) {
      codes[index] = static_cast<uint8_t>(levels + signed_code(inverse_scale * values[index], levels));
    }
  };
  if (extreme == 0) {
    std::fill(codes.begin(), codes.end(), uint8_t{0});
    return 0;
  }
  // The value of the largest magnitude becomes the code -levels, which has no positive counterpart.
  float inverse_scale = static_cast<float>(-levels) / extreme;
  write_codes(inverse_scale);
  SymmetricSums sums = symmetric_sums(values, weights, inverse_scale, levels);
  float scale = sums.code_code != 0 ? sums.value_code / sums.code_code : 0;
  float best = scale * sums.value_code;
  for (int step = -9; step <= 9; ++step) {
    if (step == 0) continue;
    inverse_scale = -(static_cast<float>(levels) + kStep * static_cast<float>(step)) / extreme;
    sums = symmetric_sums(values, weights, inverse_scale, levels);
    if (sums.code_code > 0 && sums.value_code * sums.value_code > best * sums.code_code) {
      write_codes(inverse_scale);
      scale = sums.value_code / sums.code_code;
      best = scale * sums.value_code;
    }
  }
  return scale;
}

float fit_symmetric_stepwise(std::span<const float> values, int levels, std::span<uint8_t> codes) {
  WICK_ASSERT(values.size() <= kMaxRun && codes.size() == values.size());
  const float extreme = extreme_of(values);
  if (extreme == 0) {
    std::fill(codes.begin(), codes.end(), uint8_t{0});
    return 0;
  }
  const float inverse_scale = static_cast<float>(-levels) / extreme;
  SymmetricSums sums;
  std::array<int, kMaxRun> signed_codes{};
  for (size_t index = 0; index < values.size(); ++index) {
    signed_codes[index] = signed_code(inverse_scale * values[index], levels);
    sums.add(values[index] * values[index], values[index], static_cast<float>(signed_codes[index]));
  }
  bool moved = true;
  for (int pass = 0; pass < kPasses && moved; ++pass) {
    moved = false;
    for (size_t index = 0; index < values.size(); ++index) {
      const float value = values[index];
      const float weight = value * value;
      const auto code = static_cast<float>(signed_codes[index]);
      // The sums without this value give the scale that its new code is rounded by.
      SymmetricSums trial{.value_code = sums.value_code - weight * value * code, .code_code = 0};
      if (!(trial.value_code > 0)) continue;
      trial.code_code = sums.code_code - weight * code * code;
      const int changed = signed_code(value * trial.code_code / trial.value_code, levels);
      if (changed == signed_codes[index]) continue;
      trial.add(weight, value, static_cast<float>(changed));
      if (!(trial.code_code > 0) || !sums.worse_than(trial)) continue;
      signed_codes[index] = changed;
      sums = trial;
      moved = true;
    }
  }
  for (size_t index = 0; index < values.size(); ++index) codes[index] = static_cast<uint8_t>(signed_codes[index] + levels);
  return sums.scale();
}

namespace {

// The rounding scale of fit_positive: max_code - 0.4 … max_code + 0.4 over the largest value, the one of the smallest error.
float search_positive(std::span<const float> values, std::span<const float> weights, int max_code, float highest) {
  const auto top = static_cast<float>(max_code);
  float best_inverse = top / highest;
  float best_error = 0;
  const auto error_of = [&](float inverse, bool clamped) {
    const float scale = 1 / inverse;
    float error = 0;
    for (size_t index = 0; index < values.size(); ++index) {
      const int rounded = nearest_integer(inverse * values[index]);
      const int code = clamped ? std::min(max_code, rounded) : static_cast<uint8_t>(rounded);
      const float difference = values[index] - scale * static_cast<float>(code);
      error += weights[index] * difference * difference;
    }
    return error;
  };
  best_error = error_of(best_inverse, false);
  for (int step = -4; step <= 4; ++step) {
    if (step == 0) continue;
    const float inverse = (kStep * static_cast<float>(step) + top) / highest;
    const float error = error_of(inverse, true);
    if (error < best_error) {
      best_error = error;
      best_inverse = inverse;
    }
  }
  return best_inverse;
}

}  // namespace

float fit_positive(std::span<const float> values, std::span<const float> weights, int max_code, std::span<uint8_t> codes) {
  float highest = 0;
  for (const float value : values) highest = highest > value ? highest : value;
  if (highest < kZeroRun || std::isnan(highest)) {
    std::fill(codes.begin(), codes.end(), uint8_t{0});
    return 0;
  }
  const float inverse = search_positive(values, weights, max_code, highest);
  SymmetricSums sums;
  for (size_t index = 0; index < values.size(); ++index) {
    const int code = std::min(max_code, nearest_integer(inverse * values[index]));
    codes[index] = static_cast<uint8_t>(code);
    sums.add(weights[index], values[index], static_cast<float>(code));
  }
  bool moved = true;
  for (int pass = 0; pass < kPasses && moved; ++pass) {
    moved = false;
    for (size_t index = 0; index < values.size(); ++index) {
      const float value = values[index];
      const float weight = weights[index];
      const auto code = static_cast<float>(codes[index]);
      SymmetricSums trial{.value_code = sums.value_code - weight * value * code, .code_code = sums.code_code - weight * code * code};
      if (!(trial.value_code > 0 && trial.code_code > 0)) continue;
      const int changed = std::min(max_code, nearest_integer(value * trial.code_code / trial.value_code));
      if (changed == codes[index]) continue;
      trial.add(weight, value, static_cast<float>(changed));
      if (!sums.worse_than(trial)) continue;
      codes[index] = static_cast<uint8_t>(changed);
      sums = trial;
      moved = true;
    }
  }
  return sums.scale();
}

}  // namespace wick::quant
