// IQ1_S and IQ1_M: writing blocks of the values -1, 0 and 1, moved by an eighth up or down.
#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <cstring>

#include "wick/base/half.h"
#include "wick/quant/block_loop.h"
#include "wick/quant/codebook_pack.h"
#include "wick/quant/codebooks.h"
#include "wick/quant/rows.h"

namespace wick::quant {
namespace {

constexpr size_t kSuperBlockIQ1 = 256;
using Values = std::array<float, 3>;  // of the digits
constexpr Values kUp = {-1 + kShiftIQ1, kShiftIQ1, 1 + kShiftIQ1};
constexpr Values kDown = {-1 - kShiftIQ1, -kShiftIQ1, 1 - kShiftIQ1};

const Codebook& book_iq1() {
  static const Codebook book(kPointsIQ1, 8, 2, 3);
  return book;
}

// A run's values in ascending order are cut into those that become -1, 0 and 1; the two cuts and the shifts are searched exhaustively.
template <size_t kRun>
struct TernaryRun {
  const float* in = nullptr;
  std::array<float, kRun> weights;
  std::array<size_t, kRun> order;  // of the values, ascending
  std::array<uint8_t, kRun> digits{};
  std::array<uint16_t, kRun / 8> points{};
  float scale = 0;
  int shifts = 0;  // what the formats make of it: see their functions
  bool found = false;

  TernaryRun(const float* values, const float* importance, float twice_mean_square) : in(values) {
    for (size_t j = 0; j < kRun; ++j) {
      weights[j] = importance != nullptr ? importance[j] * std::sqrt(twice_mean_square + in[j] * in[j]) : in[j] * in[j];
      order[j] = j;
    }
    std::stable_sort(order.begin(), order.end(), [&](size_t lhs, size_t rhs) { return in[lhs] < in[rhs]; });
  }
  [[nodiscard]] float highest() const {
    float highest = 0;
    for (size_t j = 0; j < kRun; ++j) highest = std::max(highest, std::fabs(in[j]));
    return highest;
  }
  void cut(size_t first, size_t second) {
    for (size_t j = 0; j < kRun; ++j) digits[order[j]] = j < first ? 0 : j < second ? 1 : 2;
  }
  void negate() {
    for (uint8_t& digit : digits) digit = static_cast<uint8_t>(2 - digit);
    scale = -scale;
  }
  // values_of(k): the digits' values in group k of eight.
  template <class ValuesOf>
  void find_points(const ValuesOf& values_of);
};

uint16_t nearest_point(std::span<const uint8_t> digits, const float* in, const float* weights, float scale, const Values& values) {
  const std::span<const uint16_t> candidates = book_iq1().neighbours(digits);
  uint16_t best = candidates.front();
  float best_error = FLT_MAX;
  for (const uint16_t point : candidates) {
    float error = 0;
    for (size_t lane = 0; lane < 8; ++lane) {
      const float difference = scale * values[static_cast<size_t>(book_iq1().digit(point, static_cast<int>(lane)))] - in[lane];
      error += weights[lane] * difference * difference;
    }
    if (error >= best_error || std::isnan(error)) continue;
    best_error = error;
    best = point;
  }
  return best;
}

template <size_t kRun>
template <class ValuesOf>
void TernaryRun<kRun>::find_points(const ValuesOf& values_of) {
  bool exact = true;
  for (size_t k = 0; k < kRun / 8; ++k) {
    const auto group = std::span<const uint8_t>(digits).subspan(k * 8, 8);
    const int point = book_iq1().find(group);
    exact = exact && point >= 0;
    points[k] = point >= 0 ? static_cast<uint16_t>(point) : nearest_point(group, in + k * 8, weights.data() + k * 8, scale, values_of(k));
  }
  if (exact) return;
  float value_code = 0;
  float code_code = 0;
  for (size_t j = 0; j < kRun; ++j) {
    const float q = values_of(j / 8)[static_cast<size_t>(book_iq1().digit(points[j / 8], static_cast<int>(j % 8)))];
    value_code += weights[j] * q * in[j];
    code_code += weights[j] * q * q;
  }
  if (value_code > 0 && code_code > 0) scale = value_code / code_code;
}

// One shift for all 32 values: shifts is 1 (up) or -1 (down).
using LongRun = TernaryRun<32>;

void search_long_run(LongRun& run) {
  constexpr size_t kRun = 32;
  std::array<float, kRun + 1> values{};  // prefix sums
  std::array<float, kRun + 1> weights{};
  for (size_t j = 0; j < kRun; ++j) {
    const size_t from = run.order[j];
    values[j + 1] = values[j] + run.weights[from] * run.in[from];
    weights[j + 1] = weights[j] + run.weights[from];
  }
  float best = -FLT_MAX;
  size_t first = 0;
  size_t second = 0;
  const auto consider = [&](size_t i1, size_t i2, const Values& v, int shift) {
    const float value_code = (values[i1] - values[0]) * v[0] + (values[i2] - values[i1]) * v[1] + (values[kRun] - values[i2]) * v[2];
    const float code_code =
        (weights[i1] - weights[0]) * v[0] * v[0] + (weights[i2] - weights[i1]) * v[1] * v[1] + (weights[kRun] - weights[i2]) * v[2] * v[2];
    if (!(code_code > 0 && value_code * value_code > best * code_code)) return;
    run.scale = value_code / code_code;
    best = run.scale * value_code;
    first = i1;
    second = i2;
    run.shifts = shift;
    run.found = true;
  };
  for (size_t i1 = 0; i1 <= kRun; ++i1) {
    for (size_t i2 = i1; i2 <= kRun; ++i2) {
      consider(i1, i2, kUp, 1);
      consider(i1, i2, kDown, -1);
    }
  }
  if (!run.found) return;
  run.cut(first, second);
  if (run.scale < 0) {
    run.negate();
    run.shifts = -run.shifts;
  }
  run.find_points([&](size_t) -> const Values& { return run.shifts == 1 ? kUp : kDown; });
}

BlockIQ1_S quantize_iq1_s(const float* in, const float* importance) {
  const float twice_mean_square = 2 * sum_of_squares({in, kSuperBlockIQ1}) / kSuperBlockIQ1;
  BlockIQ1_S block{};
  std::array<float, 8> scales{};
  std::array<int, 8> shifts{};
  float max_scale = 0;
  for (size_t r = 0; r < 8; ++r) {
    LongRun run(in + r * 32, importance + r * 32, twice_mean_square);
    if (!(run.highest() >= 1e-12f)) continue;
    search_long_run(run);
    if (!run.found) continue;
    for (size_t k = 0; k < 4; ++k) {
      block.points[r * 4 + k] = static_cast<uint8_t>(run.points[k] & 255);
      block.high[r] = static_cast<uint16_t>(block.high[r] | ((run.points[k] >> 8) << (3 * k)));
    }
    scales[r] = run.scale;
    shifts[r] = run.shifts;
    max_scale = std::max(max_scale, run.scale);
  }
  if (max_scale == 0) return block;
  const float d = max_scale / 15;
  block.d = float_to_f16_bits(d * 1.125f);  // ggml's correction
  for (size_t r = 0; r < 8; ++r) {
    const int bits = odd_scale_bits(1 / d, scales[r], 7) | (shifts[r] == -1 ? 8 : 0);
    block.high[r] = static_cast<uint16_t>(block.high[r] | (bits << 12));
  }
  return block;
}

// A shift for each half of 16 values: bit 1 of shifts is set if the first goes down, bit 0 if the second does.
using ShortRun = TernaryRun<16>;

const Values& half_values(int shifts, size_t half) { return (shifts >> (1 - half)) & 1 ? kDown : kUp; }

// The sums of one cut in a half, for both shifts. As neighbouring values differ by 1, Σ w·x·q is T·v₂ - P(i₁) - P(i₂) with the total T
// and the prefix sums P.
struct HalfSums {
  std::array<float, 17> values{};
  std::array<float, 17> weights{};

  [[nodiscard]] float value_code(size_t i1, size_t i2, const Values& v) const { return values[16] * v[2] - (values[i1] + values[i2]); }
  [[nodiscard]] float code_code(size_t i1, size_t i2, const Values& v) const {
    return weights[16] * v[2] * v[2] + weights[i1] * (v[0] * v[0] - v[1] * v[1]) + weights[i2] * (v[1] * v[1] - v[2] * v[2]);
  }
};

void search_short_run(ShortRun& run) {
  constexpr size_t kRun = 16;
  std::array<HalfSums, 2> halves;
  for (size_t j = 0; j < kRun; ++j) {
    const size_t from = run.order[j];
    for (size_t half = 0; half < 2; ++half) {
      const bool here = from / 8 == half;
      halves[half].values[j + 1] = halves[half].values[j] + (here ? run.weights[from] * run.in[from] : 0.0f);
      halves[half].weights[j + 1] = halves[half].weights[j] + (here ? run.weights[from] : 0.0f);
    }
  }
  float best = -FLT_MAX;
  size_t first = 0;
  size_t second = 0;
  for (size_t i1 = 0; i1 <= kRun; ++i1) {
    for (size_t i2 = i1; i2 <= kRun; ++i2) {
#pragma GCC unroll 4
      for (int shifts = 0; shifts < 4; ++shifts) {
        const float value_code =
            halves[0].value_code(i1, i2, half_values(shifts, 0)) + halves[1].value_code(i1, i2, half_values(shifts, 1));
        const float code_code = halves[0].code_code(i1, i2, half_values(shifts, 0)) + halves[1].code_code(i1, i2, half_values(shifts, 1));
        if (!(code_code > 0 && value_code * value_code > best * code_code)) continue;
        run.scale = value_code / code_code;
        best = run.scale * value_code;
        first = i1;
        second = i2;
        run.shifts = shifts;
        run.found = true;
      }
    }
  }
  if (!run.found) return;
  run.cut(first, second);
  if (run.scale < 0) {
    run.negate();
    run.shifts = 3 - run.shifts;
  }
  run.find_points([&](size_t half) -> const Values& { return half_values(run.shifts, half); });
}

// The scale that is best for the codes as they are.
float refine_scale(const BlockIQ1_M& block, const std::array<int, 16>& shifts, const std::array<int, 16>& bits, const float* in,
                   const float* importance, float twice_mean_square, float d) {
  float value_code = 0;
  float code_code = 0;
  for (size_t r = 0; r < 16; ++r) {
    const float* from = in + r * 16;
    for (size_t j = 0; j < 16; ++j) {
      const float weight =
          importance != nullptr ? importance[r * 16 + j] * std::sqrt(twice_mean_square + from[j] * from[j]) : from[j] * from[j];
      const size_t half = j / 8;
      const int point = block.points[2 * r + half] | (((block.high[r] >> (4 * half)) & 7) << 8);
      const float q = half_values(shifts[r], half)[static_cast<size_t>(book_iq1().digit(point, static_cast<int>(j % 8)))] *
                      static_cast<float>(2 * bits[r] + 1);
      value_code += weight * q * from[j];
      code_code += weight * q * q;
    }
  }
  return code_code > 0 ? value_code / code_code : d;
}

BlockIQ1_M quantize_iq1_m(const float* in, const float* importance) {
  const float twice_mean_square = 2 * sum_of_squares({in, kSuperBlockIQ1}) / kSuperBlockIQ1;
  BlockIQ1_M block{};
  std::array<float, 16> scales{};
  std::array<int, 16> shifts{};
  float max_scale = 0;
  for (size_t r = 0; r < 16; ++r) {
    ShortRun run(in + r * 16, importance == nullptr ? nullptr : importance + r * 16, twice_mean_square);
    if (!(run.highest() >= 1e-7f)) continue;
    search_short_run(run);
    if (!run.found) continue;
    for (size_t k = 0; k < 2; ++k) block.points[2 * r + k] = static_cast<uint8_t>(run.points[k] & 255);
    block.high[r] = static_cast<uint8_t>((run.points[0] >> 8) | ((run.points[1] >> 8) << 4));
    scales[r] = run.scale;
    shifts[r] = run.shifts;
    max_scale = std::max(max_scale, run.scale);
  }
  if (max_scale == 0) return block;
  const float d = max_scale / 15;
  std::array<uint16_t, 4> words{};
  std::array<int, 16> bits;
  for (size_t r = 0; r < 16; ++r) {
    bits[r] = odd_scale_bits(1 / d, scales[r], 7);
    words[r / 4] = static_cast<uint16_t>(words[r / 4] | (bits[r] << (3 * (r % 4))));
    block.high[r] = static_cast<uint8_t>(block.high[r] | ((shifts[r] & 2) << 2) | ((shifts[r] & 1) << 7));
  }
  const float refined = refine_scale(block, shifts, bits, in, importance, twice_mean_square, d);
  const uint16_t scale = float_to_f16_bits(refined * 1.1125f);  // ggml's correction
  for (size_t word = 0; word < 4; ++word) words[word] = static_cast<uint16_t>(words[word] | (((scale >> (4 * word)) & 15) << 12));
  std::memcpy(block.scales, words.data(), sizeof(block.scales));
  return block;
}

}  // namespace

void pack_weighted_iq1_s(std::span<const float> row, std::span<const float> importance, std::byte* blocks) {
  pack_weighted_blocks<BlockIQ1_S>(row, importance, blocks, quantize_iq1_s);
}
void pack_weighted_iq1_m(std::span<const float> row, std::span<const float> importance, std::byte* blocks) {
  pack_weighted_blocks<BlockIQ1_M>(row, importance, blocks, quantize_iq1_m);
}
void pack_iq1_m(std::span<const float> values, std::byte* blocks) {
  pack_blocks<BlockIQ1_M>(values, blocks, [](const float* in) { return quantize_iq1_m(in, nullptr); });
}

}  // namespace wick::quant
