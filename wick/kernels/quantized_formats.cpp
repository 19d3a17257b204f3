#include "wick/kernels/quantized_formats.h"

#include <numeric>

#include "wick/kernels/numbers.h"

namespace wick::kernels {

using namespace ir;

namespace {

using Words = std::array<Value, 4>;

KernelBuilder& builder(const Value& value) { return *value.builder(); }
Value as_signed_f32(const Value& value) { return cast(Type::f32, bitcast(Type::i32, value)); }

template <class F>
Words each(const Words& words, F f) {
  return {f(words[0]), f(words[1]), f(words[2]), f(words[3])};
}

// Two words side by side, from byte `shift / 8` of the first on.
Value funnel(const Value& low, const Value& high, const Value& shift) { return (low >> shift) | ((high << 1) << (31U - shift)); }

// From four unsigned bytes below 128 to the signed bytes that are less by `amount`; no byte borrows from the next.
Value minus(const Value& bytes, uint32_t amount) { return ((bytes | 0x80808080U) - amount * 0x01010101U) ^ 0x80808080U; }

// Of nibbles in bytes: those of elements 0 … 15 are the low ones, of 16 … 31 the high ones.
Words nibbles(const Words& words, const Value& high) {
  const Value shift = high * 4U;
  return each(words, [&](const Value& word) { return (word >> shift) & 0x0f0f0f0fU; });
}

// The sixteen bits of 16 neighbouring elements, four of them in each byte's lowest bit.
Words spread_bits(const Value& sixteen_bits) {
  Words spread;
  // Bit i of four moves to bit 8 i: the product holds the four bits at 0, 7, 14 and 21.
  for (uint32_t i = 0; i < 4; ++i) spread[i] = (((sixteen_bits >> (4 * i)) & 15U) * 0x00204081U) & 0x01010101U;
  return spread;
}

// --- blocks of 32 ---------------------------------------------------------------------------------------------------------------

Sixteen read_q4_0(const BlockBytes& b, const Value& sixteen) {
  const Words codes = nibbles(b.words4(2, builder(sixteen).constant(0U), 4), sixteen);
  return {each(codes, [](const Value& w) { return minus(w, 8); }), b.f16(0), {}};
}

Sixteen read_q4_1(const BlockBytes& b, const Value& sixteen) {
  return {nibbles(b.words4(4, builder(sixteen).constant(0U), 4), sixteen), b.f16(0), b.f16(2)};
}

Words five_bits(const BlockBytes& b, uint32_t high_at, uint32_t codes_at, const Value& sixteen) {
  const Value zero = builder(sixteen).constant(0U);
  const Words low = nibbles(b.words4(codes_at, zero, 4), sixteen), high = spread_bits(b.word(high_at, zero, 4) >> (sixteen * 16U));
  Words codes;
  for (size_t i = 0; i < 4; ++i) codes[i] = low[i] | (high[i] << 4);
  return codes;
}

Sixteen read_q5_0(const BlockBytes& b, const Value& sixteen) {
  return {each(five_bits(b, 2, 6, sixteen), [](const Value& w) { return minus(w, 16); }), b.f16(0), {}};
}

Sixteen read_q5_1(const BlockBytes& b, const Value& sixteen) { return {five_bits(b, 4, 8, sixteen), b.f16(0), b.f16(2)}; }

Sixteen read_q8_0(const BlockBytes& b, const Value& sixteen) { return {b.words4(2, sixteen * 16U, 16), b.f16(0), {}}; }

Sixteen read_q8_1(const BlockBytes& b, const Value& sixteen) { return {b.words4(4, sixteen * 16U, 16), b.f16(0), {}}; }

Sixteen read_iq4_nl(const BlockBytes& b, const Value& sixteen) {
  return {look_up(*b.codebook, nibbles(b.words4(2, builder(sixteen).constant(0U), 4), sixteen)), b.f16(0), {}};
}

Sixteen read_mxfp4(const BlockBytes& b, const Value& sixteen) {
  const Value zero = builder(sixteen).constant(0U), exponent = b.byte(0, zero);
  // 2^(exponent - 128), of which exponents 0 and 1 are subnormal: those are made in two steps, as subnormals may count as zero.
  const Value scale = bitcast(Type::f32, (max(exponent, 64U) - 1U) << 23) * bitcast(Type::f32, (127U - (64U - min(exponent, 64U))) << 23);
  return {look_up(*b.codebook, nibbles(b.words4(1, zero, 1), sixteen)), scale, {}};
}

// --- other small blocks -----------------------------------------------------------------------------------------------------------

// An unsigned float of 4 exponent bits (bias 7) and 3 mantissa bits; 0x7f counts as 0.
Sixteen read_nvfp4(const BlockBytes& b, const Value& sixteen) {
  const Value code = b.byte(0, sixteen) & 0x7fU;
  // Half of it, as the codebook is doubled. Without an exponent: eighths of 2^-6.
  const Value normal = bitcast(Type::f32, (code << 20) + (119U << 23)), small = as_f32(code) * 0x1p-10F;
  const Value scale = select(code == 0x7fU, 0.0F, select(code < 8U, small, normal));
  // Byte j of a run's eight holds codes j and j + 8.
  const Value low = b.word(4, sixteen * 8U, 8), high = b.word(8, sixteen * 8U, 8);
  const Words codes{low & 0x0f0f0f0fU, high & 0x0f0f0f0fU, (low >> 4) & 0x0f0f0f0fU, (high >> 4) & 0x0f0f0f0fU};
  return {look_up(*b.codebook, codes), scale, {}};
}

Sixteen read_q1_0(const BlockBytes& b, const Value& sixteen) {
  // A set bit is +1, a clear one -1.
  return {each(spread_bits(b.half(2, sixteen * 2U)), [](const Value& w) { return minus(w << 1, 1); }), b.f16(0), {}};
}

// Four codes of two bits in each byte, the first lowest: a byte becomes a word.
Value spread_pairs(const Value& byte) { return (byte & 3U) | ((byte & 12U) << 6) | ((byte & 48U) << 12) | ((byte & 192U) << 18); }

Sixteen read_q2_0(const BlockBytes& b, const Value& sixteen) {
  const Value word = b.word(2, sixteen * 4U, 4);
  Words codes;
  for (uint32_t i = 0; i < 4; ++i) codes[i] = minus(spread_pairs((word >> (8 * i)) & 255U), 1);
  return {codes, b.f16(0), {}};
}

// --- super-blocks -----------------------------------------------------------------------------------------------------------------

RunScale six_bit_scales(const BlockBytes& b, uint32_t at, const Value& run) {
  const Value zero = builder(run).constant(0U);
  return six_bit_scale({b.word(at, zero, 4), b.word(at + 4, zero, 4), b.word(at + 8, zero, 4)}, run);
}

Sixteen affine(const BlockBytes& b, const Words& codes, const RunScale& run) {
  return {codes, b.f16(0) * as_f32(run.scale), -(b.f16(2) * as_f32(run.minimum))};
}

Sixteen read_q4_k(const BlockBytes& b, const Value& sixteen) {
  const Value run = sixteen / 2U;
  const Words codes = nibbles(b.words4(16, run / 2U * 32U + sixteen % 2U * 16U, 16), run % 2U);
  return affine(b, codes, six_bit_scales(b, 4, run));
}

Sixteen read_q5_k(const BlockBytes& b, const Value& sixteen) {
  const Value run = sixteen / 2U, part = sixteen % 2U * 16U;
  const Words low = nibbles(b.words4(48, run / 2U * 32U + part, 16), run % 2U), high = b.words4(16, part, 16);
  Words codes;
  for (size_t i = 0; i < 4; ++i) codes[i] = low[i] | (((high[i] >> run) & 0x01010101U) << 4);
  return affine(b, codes, six_bit_scales(b, 4, run));
}

// Of a super-block's two halves of 128 elements, four groups of 32 elements each, two sixteens in each group.
struct Quarter {
  Value half, group, part;
  explicit Quarter(const Value& sixteen) : half(sixteen / 8U), group(sixteen / 2U % 4U), part(sixteen % 2U * 16U) {}
};

Sixteen read_q6_k(const BlockBytes& b, const Value& sixteen) {
  const Quarter q(sixteen);
  const Words low = nibbles(b.words4(0, q.half * 64U + q.group % 2U * 32U + q.part, 16), q.group / 2U);
  const Words high = b.words4(128, q.half * 32U + q.part, 16);
  Words codes;
  for (size_t i = 0; i < 4; ++i) codes[i] = minus(low[i] | (((high[i] >> (q.group * 2U)) & 0x03030303U) << 4), 32);
  const Value scale = bitcast(Type::i32, b.byte(192, sixteen) << 24) >> 24;
  return {codes, b.f16(208) * cast(Type::f32, scale), {}};
}

Words two_bits(const BlockBytes& b, uint32_t at, const Quarter& q) {
  return each(b.words4(at, q.half * 32U + q.part, 16), [&](const Value& w) { return (w >> (q.group * 2U)) & 0x03030303U; });
}

Sixteen read_q2_k(const BlockBytes& b, const Value& sixteen) {
  const Value bits = b.byte(0, sixteen);
  return {two_bits(b, 16, Quarter(sixteen)), b.f16(80) * as_f32(bits & 15U), -(b.f16(82) * as_f32(bits >> 4))};
}

Sixteen read_q3_k(const BlockBytes& b, const Value& sixteen) {
  const Quarter q(sixteen);
  const Words low = two_bits(b, 32, q), high = b.words4(0, q.part, 16);
  Words codes;
  for (size_t i = 0; i < 4; ++i) codes[i] = minus(low[i] | (((high[i] >> (q.half * 4U + q.group)) & 0x01010101U) << 2), 4);
  const Value four = (b.byte(96, sixteen % 8U) >> (sixteen / 8U * 4U)) & 15U;
  const Value two = (b.byte(104, sixteen % 4U) >> (sixteen / 4U * 2U)) & 3U;
  return {codes, b.f16(108) * as_signed_f32((four | (two << 4)) - 32U), {}};
}

Sixteen read_q8_k(const BlockBytes& b, const Value& sixteen) {
  return {b.words4(4, sixteen * 16U, 16), bitcast(Type::f32, b.word(0, builder(sixteen).constant(0U), 4)), {}};
}

Sixteen read_tq2_0(const BlockBytes& b, const Value& sixteen) {
  return {each(two_bits(b, 0, Quarter(sixteen)), [](const Value& w) { return minus(w, 1); }), b.f16(64), {}};
}

// The codes of I2_S lie as in TQ2_0, the first group highest, and 3 means 1. Its scale is the tensor's.
Sixteen read_i2_s(const BlockBytes& b, const Value& sixteen) {
  const Value shift = 6U - sixteen / 2U * 2U;
  const Words codes = each(b.words4(0, sixteen % 2U * 16U, 16), [&](const Value& w) { return (w >> shift) & 0x03030303U; });
  return {each(codes, [](const Value& w) { return minus(w ^ (((w & (w >> 1)) & 0x01010101U) << 1), 1); }), {}, {}};
}

// Digit n of four bytes that hold ⌈256 c / 243⌉ of five digits: times 3^n, of which the low byte stays, and what thrice that carries.
Value ternary_digits(const Value& bytes, const Value& power) {
  const auto of_halves = [&](const Value& halves) { return ((((halves * power) & 0x00ff00ffU) * 3U) >> 8) & 0x00030003U; };
  return of_halves(bytes & 0x00ff00ffU) | (of_halves((bytes >> 8) & 0x00ff00ffU) << 8);
}

Value power_of_three(const Value& n) {
  return select(n == 0U, 1U, select(n == 1U, 3U, select(n == 2U, 9U, select(n == 3U, builder(n).constant(27U), 81U))));
}

Sixteen read_tq1_0(const BlockBytes& b, const Value& sixteen) {
  // Sixteens 0 to 9 are digits of the first 32 bytes, 10 to 14 of the next 16, and 15 is four digits of the last four.
  const Value wide = sixteen < 10U, last = sixteen == 15U;
  const Words bytes = b.words4(0, select(wide, sixteen % 2U * 16U, select(last, builder(sixteen).constant(0U), 32U)), 16);
  const Value power = power_of_three(select(wide, sixteen / 2U, sixteen - 10U)), tail = b.word(48, builder(sixteen).constant(0U), 4);
  Words codes;
  for (uint32_t i = 0; i < 4; ++i) {
    const Value place = builder(sixteen).constant(i == 0 ? 1U : i == 1 ? 3U : i == 2 ? 9U : 27U);
    codes[i] = minus(ternary_digits(select(last, tail, bytes[i]), select(last, place, power)), 1);
  }
  return {codes, b.f16(52), {}};
}

Sixteen read_iq4_xs(const BlockBytes& b, const Value& sixteen) {
  const Value run = sixteen / 2U, zero = builder(sixteen).constant(0U);
  const Value low = (b.byte(4, run / 2U) >> (run % 2U * 4U)) & 15U, high = (b.half(2, zero) >> (run * 2U)) & 3U;
  return {look_up(*b.codebook, nibbles(b.words4(8, run * 16U, 16), sixteen % 2U)), b.f16(0) * as_signed_f32((low | (high << 4)) - 32U), {}};
}

}  // namespace

RunScale six_bit_scale(const std::array<Value, 3>& words, const Value& run) {
  const Value shift = run % 4U * 8U, s0 = words[0] >> shift, s1 = words[1] >> shift, s2 = words[2] >> shift;
  const Value low_run = run < 4U;
  return {select(low_run, s0 & 63U, (s2 & 15U) | (((s0 >> 6) & 3U) << 4)),
          select(low_run, s1 & 63U, ((s2 >> 4) & 15U) | (((s1 >> 6) & 3U) << 4))};
}

Value BlockBytes::word(uint32_t at, const Value& varying, uint32_t step) const {
  const Value address = first + varying + at;
  const uint32_t alignment = std::gcd(std::gcd(block_bytes, at), std::gcd(step, 4U));
  if (alignment == 4) return words[address >> 2];
  const Value shift = (address & 3U) * 8U;
  // The next word only where the wanted one reaches into it: behind the tensor's last there is none.
  const Value next = words.load_if(shift != 0U, (address >> 2) + 1U, 0U);
  return funnel(words[address >> 2], next, shift);
}

std::array<Value, 4> BlockBytes::words4(uint32_t at, const Value& varying, uint32_t step) const {
  const Value address = first + varying + at, begin = address >> 2;
  const uint32_t alignment = std::gcd(std::gcd(block_bytes, at), std::gcd(step, 16U));
  if (alignment % 16 == 0) {
    const ir::Vector four = words.load4(begin);
    return {four[0], four[1], four[2], four[3]};
  }
  std::array<Value, 5> five;
  for (uint32_t i = 0; i < 4; ++i) five[i] = words[begin + i];
  if (alignment % 4 == 0) return {five[0], five[1], five[2], five[3]};
  const Value shift = (address & 3U) * 8U;
  five[4] = words.load_if(shift != 0U, begin + 4U, 0U);
  std::array<Value, 4> joined;
  for (size_t i = 0; i < 4; ++i) joined[i] = funnel(five[i], five[i + 1], shift);
  return joined;
}

Value BlockBytes::byte(uint32_t at, const Value& varying) const {
  const Value address = first + varying + at;
  return (words[address >> 2] >> ((address & 3U) * 8U)) & 255U;
}

Value BlockBytes::half(uint32_t at, const Value& varying) const {
  const Value address = first + varying + at;
  return (words[address >> 2] >> ((address & 2U) * 8U)) & 0xffffU;
}

Value BlockBytes::f16(uint32_t at) const {
  const Value address = first + at;
  const Value word = words[address >> 2];
  return unpack_half(block_bytes % 4 == 0 ? (at % 4 == 0 ? word : word >> 16) : word >> ((address & 2U) * 8U));
}

std::array<Value, 4> look_up(const Memory& codebook, const std::array<Value, 4>& words) {
  return each(words, [&](const Value& word) {
    Value bytes = codebook[word & 15U];
    for (uint32_t i = 1; i < 4; ++i) bytes = bytes | (codebook[(word >> (8 * i)) & 15U] << (8 * i));
    return bytes;
  });
}

FormatReader find_format(DType dtype) noexcept {
  switch (dtype) {
    case DType::q4_0: return read_q4_0;
    case DType::q4_1: return read_q4_1;
    case DType::q5_0: return read_q5_0;
    case DType::q5_1: return read_q5_1;
    case DType::q8_0: return read_q8_0;
    case DType::q8_1: return read_q8_1;
    case DType::q2_k: return read_q2_k;
    case DType::q3_k: return read_q3_k;
    case DType::q4_k: return read_q4_k;
    case DType::q5_k: return read_q5_k;
    case DType::q6_k: return read_q6_k;
    case DType::q8_k: return read_q8_k;
    case DType::iq4_nl: return read_iq4_nl;
    case DType::iq4_xs: return read_iq4_xs;
    case DType::mxfp4: return read_mxfp4;
    case DType::nvfp4: return read_nvfp4;
    case DType::i2_s: return read_i2_s;
    case DType::q1_0: return read_q1_0;
    case DType::q2_0: return read_q2_0;
    case DType::tq1_0: return read_tq1_0;
    case DType::tq2_0: return read_tq2_0;
    default: return find_codebook_format(dtype);
  }
}

}  // namespace wick::kernels
