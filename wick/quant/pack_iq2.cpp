// IQ2_XXS, IQ2_XS and IQ2_S: writing blocks whose elements are points of eight digits.
#include <cstring>

#include "wick/base/half.h"
#include "wick/quant/block_loop.h"
#include "wick/quant/codebook_pack.h"
#include "wick/quant/codebooks.h"
#include "wick/quant/rows.h"

namespace wick::quant {
namespace {

constexpr size_t kSuperBlockIQ2 = 256;
constexpr int kMaxDigitIQ2 = 2;

const Codebook& book_iq2_xxs() {
  static const Codebook book(kPointsIQ2_XXS, 8, kMaxDigitIQ2, 2);
  return book;
}
const Codebook& book_iq2_xs() {
  static const Codebook book(kPointsIQ2_XS, 8, kMaxDigitIQ2, 2);
  return book;
}
const Codebook& book_iq2_s() {
  static const Codebook book(kPointsIQ2_S, 8, kMaxDigitIQ2, 1);
  return book;
}

// Of IQ2_XXS: the first guess is a search of its own, and its scale tells what the largest digit shall stand for.
FittedRun<32> fit_long_run(SignedRun<32>& run) {
  FittedRun<32> fitted;
  if (run.highest() < kZeroRun) {
    run.signs.fill(0);
    return fitted;
  }
  fitted.scale = fit_positive(run.magnitudes, run.weights, kMaxDigitIQ2 + 2, fitted.digits);
  const float reach = fitted.scale * (kMaxDigitIQ2 + 1);
  if (!(reach > 0)) {
    run.signs.fill(0);
    return {};
  }
  const RunSearch search{.steps = 6, .step = 0.1f, .again = RunSearch::Again::all};
  search_run(book_iq2_xxs(), search, run.magnitudes, run.weights, reach, fitted.scale, fitted.digits);
  if (fitted.scale < 0) {
    fitted.scale = -fitted.scale;
    for (uint8_t& signs : run.signs) signs = static_cast<uint8_t>(~signs);
  }
  return fitted;
}

BlockIQ2_XXS quantize_iq2_xxs(const float* in, const float* importance) {
  const float mean_square = sum_of_squares({in, kSuperBlockIQ2}) / kSuperBlockIQ2;
  std::array<float, 8> scales;
  std::array<uint32_t, 16> words{};
  float max_scale = 0;
  for (size_t r = 0; r < 8; ++r) {
    SignedRun<32> run;
    run.weights = Weights<32>(in + r * 32, importance + r * 32, mean_square).values;
    run.split(in + r * 32, true);
    const FittedRun<32> fitted = fit_long_run(run);
    scales[r] = fitted.scale;
    max_scale = std::max(max_scale, fitted.scale);
    if (fitted.scale == 0) continue;
    for (size_t k = 0; k < 4; ++k) {
      const auto point = static_cast<uint32_t>(point_of(book_iq2_xxs(), std::span(fitted.digits).subspan(k * 8, 8)));
      words[2 * r] |= point << (8 * k);
      words[2 * r + 1] |= (run.signs[k] & 127u) << (7 * k);
    }
  }
  BlockIQ2_XXS block{};
  if (max_scale == 0) return block;
  const float d = max_scale / 31;
  block.d = float_to_f16_bits(d);
  for (size_t r = 0; r < 8; ++r) words[2 * r + 1] |= static_cast<uint32_t>(odd_scale_bits(1 / d, scales[r], 15)) << 28;
  std::memcpy(block.words, words.data(), sizeof(block.words));
  return block;
}

constexpr RunFit kShortRuns = {.search = {.steps = 9, .step = 0.1f, .again = RunSearch::Again::inexact}, .zero_run = kZeroRun};

// What IQ2_XS and IQ2_S share: 16 runs of 16, and d before any correction.
struct ShortRuns {
  std::array<FittedRun<16>, 16> fitted;
  std::array<SignedRun<16>, 16> runs;
  float d = 0;

  void set_scales(uint8_t (&scales)[8]) const {
    for (size_t r = 0; r < 16; ++r) {
      scales[r / 2] = static_cast<uint8_t>(scales[r / 2] | (odd_scale_bits(1 / d, fitted[r].scale, 15) << (r % 2 * 4)));
    }
  }
};

// weigh(run, values, importance) are a run's weights.
template <class Weigh>
ShortRuns fit_short_runs(const Codebook& book, const RunFit& fit, bool even, const float* in, const Weigh& weigh) {
  ShortRuns block;
  float max_scale = 0;
  for (size_t r = 0; r < 16; ++r) {
    block.runs[r].weights = weigh(r * 16);
    block.runs[r].split(in + r * 16, even);
    block.fitted[r] = fit_run(book, fit, block.runs[r]);
    max_scale = std::max(max_scale, block.fitted[r].scale);
  }
  block.d = max_scale / 31;
  return block;
}

BlockIQ2_XS quantize_iq2_xs(const float* in, const float* importance) {
  const float mean_square = sum_of_squares({in, kSuperBlockIQ2}) / kSuperBlockIQ2;
  const ShortRuns source = fit_short_runs(book_iq2_xs(), kShortRuns, true, in,
                                          [&](size_t at) { return Weights<16>(in + at, importance + at, mean_square).values; });
  BlockIQ2_XS block{};
  if (source.d == 0) return block;
  block.d = float_to_f16_bits(source.d);
  source.set_scales(block.scales);
  for (size_t k = 0; k < 32; ++k) {
    if (source.fitted[k / 2].scale == 0) continue;
    const int point = point_of(book_iq2_xs(), std::span(source.fitted[k / 2].digits).subspan(k % 2 * 8, 8));
    block.words[k] = static_cast<uint16_t>(point | ((source.runs[k / 2].signs[k % 2] & 127) << 9));
  }
  return block;
}

BlockIQ2_S quantize_iq2_s(const float* in, const float* importance) {
  const float twice_mean_square = 2 * sum_of_squares({in, kSuperBlockIQ2}) / kSuperBlockIQ2;
  const RunFit fit{.search = kShortRuns.search, .zero_run = 1e-8f};
  const ShortRuns source = fit_short_runs(book_iq2_s(), fit, false, in, [&](size_t at) {
    if (importance != nullptr) return Weights<16>(in + at, importance + at, twice_mean_square).values;
    std::array<float, 16> weights;
    for (size_t j = 0; j < 16; ++j) weights[j] = 0.25f * twice_mean_square + in[at + j] * in[at + j];
    return weights;
  });
  BlockIQ2_S block{};
  for (size_t k = 0; k < 32; ++k) {
    if (source.fitted[k / 2].scale == 0 && source.runs[k / 2].highest() < fit.zero_run) continue;
    const int point = point_of(book_iq2_s(), std::span(source.fitted[k / 2].digits).subspan(k % 2 * 8, 8));
    block.points[k] = static_cast<uint8_t>(point & 255);
    block.high_points[k / 4] = static_cast<uint8_t>(block.high_points[k / 4] | ((point >> 8) << (k % 4 * 2)));
    block.signs[k] = source.runs[k / 2].signs[k % 2];
  }
  if (source.d == 0) return block;
  block.d = float_to_f16_bits(source.d * 0.9875f);  // ggml's correction
  source.set_scales(block.scales);
  return block;
}

}  // namespace

void pack_weighted_iq2_xxs(std::span<const float> row, std::span<const float> importance, std::byte* blocks) {
  pack_weighted_blocks<BlockIQ2_XXS>(row, importance, blocks, quantize_iq2_xxs);
}
void pack_weighted_iq2_xs(std::span<const float> row, std::span<const float> importance, std::byte* blocks) {
  pack_weighted_blocks<BlockIQ2_XS>(row, importance, blocks, quantize_iq2_xs);
}
void pack_weighted_iq2_s(std::span<const float> row, std::span<const float> importance, std::byte* blocks) {
  pack_weighted_blocks<BlockIQ2_S>(row, importance, blocks, quantize_iq2_s);
}
void pack_iq2_s(std::span<const float> values, std::byte* blocks) {
  pack_blocks<BlockIQ2_S>(values, blocks, [](const float* in) { return quantize_iq2_s(in, nullptr); });
}

}  // namespace wick::quant
