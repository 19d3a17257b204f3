// IQ3_XXS and IQ3_S: writing blocks whose elements are points of four digits.
#include <cstring>

#include "wick/base/half.h"
#include "wick/quant/block_loop.h"
#include "wick/quant/codebook_pack.h"
#include "wick/quant/codebooks.h"
#include "wick/quant/rows.h"

namespace wick::quant {
namespace {

constexpr size_t kSuperBlockIQ3 = 256;
constexpr size_t kRunIQ3 = 32;
constexpr size_t kRunsIQ3 = 8;
constexpr int kMaxDigitIQ3 = 7;

const Codebook& book_iq3_xxs() {
  static const Codebook book(kPointsIQ3_XXS, 4, kMaxDigitIQ3, 2);
  return book;
}
const Codebook& book_iq3_s() {
  static const Codebook book(kPointsIQ3_S, 4, kMaxDigitIQ3, 3);
  return book;
}

struct FittedBlock {
  std::array<FittedRun<kRunIQ3>, kRunsIQ3> fitted;
  std::array<SignedRun<kRunIQ3>, kRunsIQ3> runs;
  float d = 0;  // before any correction
};

// importance: nullptr for weights x².
FittedBlock fit_block(const Codebook& book, const RunFit& fit, bool even, const float* in, const float* importance) {
  const float twice_mean_square = 2 * sum_of_squares({in, kSuperBlockIQ3}) / kSuperBlockIQ3;
  FittedBlock block;
  float max_scale = 0;
  for (size_t r = 0; r < kRunsIQ3; ++r) {
    const float* from = in + r * kRunIQ3;
    SignedRun<kRunIQ3>& run = block.runs[r];
    if (importance != nullptr)
      run.weights = Weights<kRunIQ3>(from, importance + r * kRunIQ3, twice_mean_square).values;
    else
      for (size_t j = 0; j < kRunIQ3; ++j) run.weights[j] = from[j] * from[j];
    run.split(from, even);
    block.fitted[r] = fit_run(book, fit, run);
    max_scale = std::max(max_scale, block.fitted[r].scale);
  }
  block.d = max_scale / 31;
  return block;
}

BlockIQ3_XXS quantize_iq3_xxs(const float* in, const float* importance) {
  constexpr RunFit kFit{.search = {.steps = 15, .step = 0.2f, .again = RunSearch::Again::inexact}, .zero_run = 1e-8f};
  const FittedBlock source = fit_block(book_iq3_xxs(), kFit, true, in, importance);
  BlockIQ3_XXS block{};
  if (source.d == 0) return block;
  block.d = float_to_f16_bits(source.d * 1.0125f);  // ggml's correction
  for (size_t r = 0; r < kRunsIQ3; ++r) {
    auto word = static_cast<uint32_t>(odd_scale_bits(1 / source.d, source.fitted[r].scale, 15)) << 28;
    for (size_t k = 0; k < 4; ++k) word |= (source.runs[r].signs[k] & 127u) << (7 * k);
    std::memcpy(block.signs_and_scales + r * sizeof(word), &word, sizeof(word));
    if (source.fitted[r].scale == 0) continue;
    for (size_t k = 0; k < 8; ++k) {
      block.points[r * 8 + k] = static_cast<uint8_t>(point_of(book_iq3_xxs(), std::span(source.fitted[r].digits).subspan(k * 4, 4)));
    }
  }
  return block;
}

BlockIQ3_S quantize_iq3_s(const float* in, const float* importance) {
  constexpr RunFit kFit{.search = {.steps = 9, .step = 0.2f, .again = RunSearch::Again::all_if_inexact}, .zero_run = 0};
  const FittedBlock source = fit_block(book_iq3_s(), kFit, false, in, importance);
  BlockIQ3_S block{};
  for (size_t r = 0; r < kRunsIQ3; ++r) {
    if (source.runs[r].highest() == 0) continue;
    std::copy(source.runs[r].signs.begin(), source.runs[r].signs.end(), block.signs + r * 4);
    for (size_t k = 0; k < 8; ++k) {
      const int point = point_of(book_iq3_s(), std::span(source.fitted[r].digits).subspan(k * 4, 4));
      block.points[r * 8 + k] = static_cast<uint8_t>(point & 255);
      block.high_points[r] = static_cast<uint8_t>(block.high_points[r] | ((point >> 8) << k));
    }
  }
  if (source.d == 0) return block;
  block.d = float_to_f16_bits(source.d * 1.033f);  // ggml's correction
  for (size_t r = 0; r < kRunsIQ3; ++r) {
    const int bits = odd_scale_bits(1 / source.d, source.fitted[r].scale, 15);
    block.scales[r / 2] = static_cast<uint8_t>(block.scales[r / 2] | (bits << (r % 2 * 4)));
  }
  return block;
}

}  // namespace

void pack_iq3_xxs(std::span<const float> values, std::byte* blocks) {
  pack_blocks<BlockIQ3_XXS>(values, blocks, [](const float* in) { return quantize_iq3_xxs(in, nullptr); });
}
void pack_iq3_s(std::span<const float> values, std::byte* blocks) {
  pack_blocks<BlockIQ3_S>(values, blocks, [](const float* in) { return quantize_iq3_s(in, nullptr); });
}
void pack_weighted_iq3_xxs(std::span<const float> row, std::span<const float> importance, std::byte* blocks) {
  pack_weighted_blocks<BlockIQ3_XXS>(row, importance, blocks, quantize_iq3_xxs);
}
void pack_weighted_iq3_s(std::span<const float> row, std::span<const float> importance, std::byte* blocks) {
  pack_weighted_blocks<BlockIQ3_S>(row, importance, blocks, quantize_iq3_s);
}

}  // namespace wick::quant
