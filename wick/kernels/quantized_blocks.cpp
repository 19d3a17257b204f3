#include "wick/kernels/quantized_blocks.h"

#include <span>

#include "wick/base/fail.h"
#include "wick/kernels/quantized_formats.h"
#include "wick/quant/blocks.h"
#include "wick/quant/codebooks.h"

namespace wick::kernels {

using namespace ir;

Value Sixteen::number(uint32_t i) const {
  // The byte plus 128 as the last bits of 2^23: exact, and on many devices faster than a conversion.
  const Value biased = bytes[i / 4] ^ 0x80808080U, byte = i % 4 == 0 ? biased & 255U : (biased >> (8 * (i % 4))) & 255U;
  return bitcast(Type::f32, byte | 0x4b000000U) - (0x1p23F + 128);
}

namespace {

template <size_t kLanes, size_t kPoints>
std::vector<uint32_t> words_of(const std::array<std::array<int8_t, kLanes>, kPoints>& points) {
  std::vector<uint32_t> words(kPoints * kLanes / 4, 0);
  for (size_t i = 0; i < kPoints * kLanes; ++i) {
    words[i / 4] |= static_cast<uint32_t>(static_cast<uint8_t>(points[i / kLanes][i % kLanes])) << (8 * (i % 4));
  }
  return words;
}

std::vector<uint32_t> words_of(std::span<const int8_t> values) {
  std::vector<uint32_t> words;
  for (const int8_t value : values) words.push_back(static_cast<uint8_t>(value));
  return words;
}

}  // namespace

bool has_codebook(DType dtype) noexcept {
  switch (dtype) {
    case DType::iq4_nl:
    case DType::iq4_xs:
    case DType::mxfp4:
    case DType::nvfp4:
    case DType::iq2_xxs:
    case DType::iq2_xs:
    case DType::iq2_s:
    case DType::iq1_s:
    case DType::iq1_m:
    case DType::iq3_xxs:
    case DType::iq3_s: return true;
    default: return false;
  }
}

std::vector<uint32_t> codebook_words(DType dtype) {
  switch (dtype) {
    case DType::iq4_nl:
    case DType::iq4_xs: return words_of(kNonlinearValues);
    case DType::mxfp4:
    case DType::nvfp4: return words_of(kFloat4Values);
    case DType::iq2_xxs: return words_of(quant::expand_points<8>(quant::kPointsIQ2_XXS, quant::kMagnitudesIQ2));
    case DType::iq2_xs: return words_of(quant::expand_points<8>(quant::kPointsIQ2_XS, quant::kMagnitudesIQ2));
    case DType::iq2_s: return words_of(quant::expand_points<8>(quant::kPointsIQ2_S, quant::kMagnitudesIQ2));
    case DType::iq1_s:
    case DType::iq1_m: return words_of(quant::expand_points<8>(quant::kPointsIQ1, quant::kValuesIQ1));
    case DType::iq3_xxs: return words_of(quant::expand_points<4>(quant::kPointsIQ3_XXS, quant::kMagnitudesIQ3_XXS));
    case DType::iq3_s: return words_of(quant::expand_points<4>(quant::kPointsIQ3_S, quant::kMagnitudesIQ3_S));
    default: return {};
  }
}

bool reads_blocks_of(DType dtype) noexcept { return find_format(dtype) != nullptr; }

QuantizedBlocks::QuantizedBlocks(ir::KernelBuilder& k, DType dtype, const std::string& name)
    : dtype_(dtype), words_(k.buffer(name, ir::Element::u32)) {
  if (has_codebook(dtype)) codebook_ = k.buffer("codebook", ir::Element::u32);
  if (has_tensor_scale(dtype)) scale_word_ = k.parameter("scale_word", Type::u32);
}

QuantizedBlocks::QuantizedBlocks(ir::KernelBuilder& k, const QuantizedBlocks& other, const std::string& name)
    : dtype_(other.dtype_), words_(k.buffer(name, ir::Element::u32)), codebook_(other.codebook_), scale_word_(other.scale_word_) {}

Sixteen QuantizedBlocks::read(const Value& block, const Value& sixteen) const {
  const FormatReader format = find_format(dtype_);
  WICK_ASSERT(format != nullptr);
  const auto block_bytes = static_cast<uint32_t>(info(dtype_).block_bytes);
  Sixteen result = format({words_, block * block_bytes, block_bytes, codebook_ ? &*codebook_ : nullptr}, sixteen);
  if (scale_word_) result.scale = bitcast(Type::f32, words_[*scale_word_]);
  return result;
}

}  // namespace wick::kernels
