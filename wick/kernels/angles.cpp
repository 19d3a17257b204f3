#include "wick/kernels/angles.h"

#include <array>
#include <cstdint>

#include "wick/kernels/math.h"
#include "wick/kernels/math_detail.h"

namespace wick::kernels {

using namespace ir;

namespace {

// Taylor's series on [-π/4, π/4], the highest power of x² first; what is left out is below 2^-28 for f32 and 2^-57 for f64.
constexpr std::array<double, 8> kSine{1.0 / 355687428096000, -1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800,
                                      1.0 / 362880,          -1.0 / 5040,          1.0 / 120,        -1.0 / 6};
constexpr std::array<double, 8> kCosine{1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800,
                                        1.0 / 40320,          -1.0 / 720,         1.0 / 24,        -1.0 / 2};

template <size_t size>
std::span<const double> terms(Type type, const std::array<double, size>& all, size_t of_f32) {
  return std::span(all).last(type == Type::f64 ? size : of_f32);
}

// sin(rest + quarter · π/2)
Value at_quarter(const Value& quarter, const Value& rest) {
  const Value s = rest * rest;
  const Value sine = fma(rest * s, detail::polynomial(s, terms(rest.type(), kSine, 4)), rest);
  const Value cosine = fma(s, detail::polynomial(s, terms(rest.type(), kCosine, 5)), 1.0);
  const Value value = select((quarter & 1U) == 1U, cosine, sine);
  return select((quarter & 2U) == 2U, -value, value);
}

// The bits of 1 / 2π behind the point, behind 64 zeros: enough for the largest f64 and 64 bits of its turn.
constexpr std::array<uint32_t, 40> kTurns{0,          0,          0x28be60db, 0x9391054a, 0x7f09d5f4, 0x7d4d3770, 0x36d8a566, 0x4f10e410,
                                          0x7f9458ea, 0xf7aef158, 0x6dc91b8e, 0x909374b8, 0x01924bba, 0x82746487, 0x3f877ac7, 0x2c4a69cf,
                                          0xba208d7d, 0x4baed121, 0x3a671c09, 0xad17df90, 0x4e64758e, 0x60d4ce7d, 0x272117e2, 0xef7e4a0e,
                                          0xc7fe25ff, 0xf7816603, 0xfbcbc462, 0xd6829b47, 0xdb4d9fb3, 0xc9f2c26d, 0xd3d18fd9, 0xa797fa8b,
                                          0x5d49eeb1, 0xfaf97c5e, 0xcf41ce7d, 0xe294a4ba, 0x9afed7ec, 0x47e35742, 0x1580cc11, 0xbf1edaea};

// Word `index` of the first `count` of them.
Value table_word(const Value& index, uint32_t count) {
  Value word = index.builder()->constant(kTurns[count - 1]);
  for (uint32_t i = 0; i + 1 < count; ++i) word = select(index == i, kTurns[i], word);
  return word;
}

// 32 bits of the table from bit `first` + 32 · word on.
Value table_bits(const Value& first, uint32_t word, uint32_t count) {
  const Value index = (first >> 5) + word, shift = first & 31U;
  return (table_word(index, count) << shift) | ((table_word(index + 1U, count) >> 1) >> (31U - shift));
}

// |x| = m · 2^e with a whole m: the bits of 1 / 2π from 2^-e on, times m, are the turns but for whole ones, and as many of them matter as
// the result has (Payne & Hanek 1983).
Value turns_of_f32(const Value& x) {
  const Value bits = bitcast(Type::u32, x), mantissa = (bits & 0x7fffffU) | 0x800000U;
  const Value first = ((bits >> 23) & 0xffU) - (150U - 64U);
  const Value turns = mantissa * table_bits(first, 0, 8) + multiply_high(mantissa, table_bits(first, 1, 8));
  return select((bits >> 31) == 1U, ~turns + 1U, turns);
}

Value turns_of_f64(const Value& x) {
  const auto wide = [](const Value& word) { return cast(Type::i64, word); };
  const Value bits = bitcast(Type::i64, x), mantissa = (bits & 0xfffffffffffff) | 0x10000000000000;
  const Value first = cast(Type::u32, (bits >> 52) & 0x7ff) - (1075U - 64U);
  const auto word = [&](uint32_t at) { return wide(table_bits(first, at, kTurns.size())); };
  const Value high = mantissa >> 32, low = mantissa & 0xffffffff, third = word(2);
  const Value upper = mantissa * ((word(0) << 32) | word(1));
  const Value lower = high * third + ((high * word(3)) >> 32) + (((low * third) >> 32) & 0xffffffff);
  const Value turns = upper + lower;
  return select(bits < 0, -turns, turns);
}

// The quarter and the rest of x. Up to 2^15 (2^20) quarters by π/2 in three parts of few bits (Cody & Waite 1980), so that the products are
// exact even where a fused multiply-add is not fused; the others by their turns.
Angle reduced(const Value& x) {
  KernelBuilder& k = *x.builder();
  const bool wide = x.type() == Type::f64;
  const Value far = abs(x) > (wide ? 0x1p20 : 0x1p15);
  const Value near = select(far, 0.0, x);
  const Value turns = near * 0.63661977236758134308;
  const Value n = trunc(turns + select(turns < 0.0, number_like(x, -0.5), 0.5));
  const Value rest = wide ? near - n * 0x1.921fb544p+0 - n * 0x1.0b4611a6p-34 - n * 0x1.3198a2e037073p-69
                          : near - n * 0x1.92p+0 - n * 0x1.fbp-12 - n * 0x1.5110b4p-22;
  Variable quarter = k.variable(bitcast(Type::u32, cast(Type::i32, n))), angle = k.variable(rest);
  k.when(far, [&] {
    const Angle of = angle_of_turns(wide ? turns_of_f64(x) : turns_of_f32(x));
    quarter = of.quarter;
    angle = of.rest;
  });
  const Value finite = abs(x) < infinity_like(x);
  return {quarter, select(finite, angle, nan_like(x))};
}

}  // namespace

Value multiply_high(const Value& a, const Value& b) {
  const Value a0 = a & 0xffffU, a1 = a >> 16, b0 = b & 0xffffU, b1 = b >> 16;
  const Value middle = a1 * b0 + ((a0 * b0) >> 16);  // at most (2^16 - 1)² + 2^16 - 1
  return a1 * b1 + (middle >> 16) + ((a0 * b1 + (middle & 0xffffU)) >> 16);
}

Angle angle_of_turns(const Value& turns) {
  if (turns.type() == Type::i64) {
    const Value quarter = (turns + (turns.builder()->number_of(Type::i64, 0, 1) << 61)) >> 62;
    const Value rest = turns - (quarter << 62);
    return {cast(Type::u32, quarter), cast(Type::f64, rest) * (6.2831853071795864769 * 0x1p-64)};
  }
  const Value quarter = (turns + 0x20000000U) >> 30;
  const Value rest = bitcast(Type::i32, turns - (quarter << 30));
  return {quarter, cast(Type::f32, rest) * (6.2831853071795864769 * 0x1p-32)};
}

Value sine(const Angle& angle) { return at_quarter(angle.quarter, angle.rest); }
Value cosine(const Angle& angle) { return at_quarter(angle.quarter + 1U, angle.rest); }
Value sin(const Value& x) { return select(x == 0.0, x, sine(reduced(x))); }
Value cos(const Value& x) { return cosine(reduced(x)); }

}  // namespace wick::kernels
