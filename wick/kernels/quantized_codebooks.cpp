// IQ1, IQ2 and IQ3: eight (four) elements are one point of a codebook, with signs.
#include "wick/kernels/quantized_formats.h"

#include "wick/kernels/numbers.h"

namespace wick::kernels {

using namespace ir;

namespace {

// Four magnitudes, none of them zero, with the signs that the lowest four bits say.
Value with_signs(const Value& magnitudes, const Value& signs) {
  const Value mask = (((signs & 15U) * 0x00204081U) & 0x01010101U) * 255U;
  return (magnitudes ^ mask) + (mask & 0x01010101U);
}

// Seven signs and the eighth, by which the number of set bits is even.
Value complete_signs(const Value& seven) {
  const Value low = seven & 127U, half = low ^ (low >> 4), quarter = half ^ (half >> 2), parity = (quarter ^ (quarter >> 1)) & 1U;
  return low | (parity << 7);
}

// A sixteen is two points of eight elements: point(k) and signs(k) for k = 0, 1.
template <class Point, class Signs>
Sixteen two_points(const BlockBytes& b, const Value& scale, Point point, Signs signs) {
  Sixteen result{{}, scale, {}};
  for (uint32_t k = 0; k < 2; ++k) {
    const Value number = point(k) * 2U, bits = signs(k);
    result.bytes[2 * k] = with_signs((*b.codebook)[number], bits);
    result.bytes[2 * k + 1] = with_signs((*b.codebook)[number + 1U], bits >> 4);
  }
  return result;
}

// The scales of IQ2: four bits s mean (s + 1/2) / 4.
Value quarter_scale(const BlockBytes& b, const Value& bits) { return b.f16(0) * (as_f32(bits) + 0.5F) * 0.25F; }
// Those of IQ1 and IQ3_S: 2 s + 1.
Value odd_scale(const Value& d, const Value& bits) { return d * as_f32(bits * 2U + 1U); }

Sixteen read_iq2_xxs(const BlockBytes& b, const Value& sixteen) {
  const Value run = sixteen / 2U, first = sixteen % 2U * 2U;
  const Value points = b.word(2, run * 8U, 8), word = b.word(6, run * 8U, 8);
  return two_points(
      b, quarter_scale(b, word >> 28), [&](uint32_t k) { return (points >> ((first + k) * 8U)) & 255U; },
      [&](uint32_t k) { return complete_signs(word >> ((first + k) * 7U)); });
}

Sixteen read_iq2_xs(const BlockBytes& b, const Value& sixteen) {
  const Value pair = b.word(2, sixteen * 4U, 4), bits = (b.byte(66, sixteen / 2U) >> (sixteen % 2U * 4U)) & 15U;
  return two_points(
      b, quarter_scale(b, bits), [&](uint32_t k) { return (pair >> (16 * k)) & 511U; },
      [&](uint32_t k) { return complete_signs(pair >> (16 * k + 9)); });
}

Sixteen read_iq2_s(const BlockBytes& b, const Value& sixteen) {
  const Value bits = (b.byte(74, sixteen / 2U) >> (sixteen % 2U * 4U)) & 15U;
  const Value low = b.half(2, sixteen * 2U), signs = b.half(34, sixteen * 2U), high = b.byte(66, sixteen / 2U) >> (sixteen % 2U * 4U);
  return two_points(
      b, quarter_scale(b, bits), [&](uint32_t k) { return ((low >> (8 * k)) & 255U) | (((high >> (2 * k)) & 3U) << 8); },
      [&](uint32_t k) { return signs >> (8 * k); });
}

// A sixteen is four points of four elements.
template <class Point, class Signs>
Sixteen four_points(const BlockBytes& b, const Value& scale, Point point, Signs signs) {
  Sixteen result{{}, scale, {}};
  for (uint32_t k = 0; k < 4; ++k) result.bytes[k] = with_signs((*b.codebook)[point(k)], signs(k));
  return result;
}

Sixteen read_iq3_xxs(const BlockBytes& b, const Value& sixteen) {
  const Value points = b.word(2, sixteen * 4U, 4), word = b.word(66, sixteen / 2U * 4U, 4), first = sixteen % 2U * 2U;
  return four_points(
      b, b.f16(0) * (as_f32(word >> 28) + 0.5F) * 0.5F, [&](uint32_t k) { return (points >> (8 * k)) & 255U; },
      [&](uint32_t k) { return complete_signs(word >> ((first + k / 2) * 7U)) >> (k % 2 * 4); });
}

Sixteen read_iq3_s(const BlockBytes& b, const Value& sixteen) {
  const Value points = b.word(2, sixteen * 4U, 4), high = b.byte(66, sixteen / 2U) >> (sixteen % 2U * 4U);
  const Value signs = b.half(74, sixteen * 2U), bits = (b.byte(106, sixteen / 4U) >> (sixteen / 2U % 2U * 4U)) & 15U;
  return four_points(
      b, odd_scale(b.f16(0), bits), [&](uint32_t k) { return ((points >> (8 * k)) & 255U) | (((high >> k) & 1U) << 8); },
      [&](uint32_t k) { return signs >> (4 * k); });
}

// IQ1: values -1, 0, 1, moved by an eighth up or down; per eight elements in IQ1_M, so the bytes here are eighths of the scale.
Sixteen read_iq1(const BlockBytes& b, const Value& scale, const std::array<Value, 2>& points, const std::array<Value, 2>& down) {
  Sixteen result{{}, scale * 0.125F, {}};
  for (uint32_t k = 0; k < 2; ++k) {
    for (uint32_t i = 0; i < 2; ++i) {
      // Eight times a byte of -1, 0 or 1, plus or minus 1: bits above the third are the sign's, so that 8 v = v << 3 in each byte.
      const Value eighths = ((*b.codebook)[points[k] * 2U + i] & 0x1f1f1f1fU) << 3;
      // v · 8 is -8 (0xf8), 0 or 8: adding 1 or 0xff to each byte must not carry, so the sum is made of its seven lower bits and the top.
      const Value step = select(down[k], 0xffffffffU, b.first.builder()->constant(0x01010101U));
      result.bytes[2 * k + i] = ((eighths & 0x7f7f7f7fU) + (step & 0x7f7f7f7fU)) ^ ((eighths ^ step) & 0x80808080U);
    }
  }
  return result;
}

Sixteen read_iq1_s(const BlockBytes& b, const Value& sixteen) {
  const Value high = b.half(34, sixteen / 2U * 2U), low = b.half(2, sixteen * 2U), first = sixteen % 2U * 2U;
  std::array<Value, 2> points;
  for (uint32_t k = 0; k < 2; ++k) points[k] = ((low >> (8 * k)) & 255U) | (((high >> ((first + k) * 3U)) & 7U) << 8);
  const Value down = (high & 0x8000U) != 0U;
  return read_iq1(b, odd_scale(b.f16(0), (high >> 12) & 7U), points, {down, down});
}

Sixteen read_iq1_m(const BlockBytes& b, const Value& sixteen) {
  const Value zero = b.first.builder()->constant(0U);
  const Value low_words = b.word(48, zero, 4), high_words = b.word(52, zero, 4);
  const Value d =
      unpack_half(((low_words >> 12) & 15U) | ((low_words >> 24) & 0xf0U) | ((high_words >> 4) & 0xf00U) | ((high_words >> 16) & 0xf000U));
  const Value bits = (b.half(48, sixteen / 4U * 2U) >> (sixteen % 4U * 3U)) & 7U;
  const Value low = b.half(0, sixteen * 2U), high = b.byte(32, sixteen);
  std::array<Value, 2> points, down;
  for (uint32_t k = 0; k < 2; ++k) {
    const Value four = high >> (4 * k);
    points[k] = ((low >> (8 * k)) & 255U) | ((four & 7U) << 8);
    down[k] = (four & 8U) != 0U;
  }
  return read_iq1(b, odd_scale(d, bits), points, down);
}

}  // namespace

FormatReader find_codebook_format(DType dtype) noexcept {
  switch (dtype) {
    case DType::iq1_s: return read_iq1_s;
    case DType::iq1_m: return read_iq1_m;
    case DType::iq2_xxs: return read_iq2_xxs;
    case DType::iq2_xs: return read_iq2_xs;
    case DType::iq2_s: return read_iq2_s;
    case DType::iq3_xxs: return read_iq3_xxs;
    case DType::iq3_s: return read_iq3_s;
    default: return nullptr;
  }
}

}  // namespace wick::kernels
