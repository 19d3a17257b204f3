#include "wick/kernels/math.h"

#include <array>
#include <numbers>

#include "wick/kernels/math_detail.h"

namespace wick::kernels {

using namespace ir;

using detail::bits_of;
using detail::clamped;
using detail::is_wide;
using detail::polynomial;
using detail::power_of_two;

namespace {

Value from_bits(const Value& like, int64_t f32_bits, int64_t f64_bits) {
  ir::KernelBuilder& k = *like.builder();
  return is_wide(like) ? bitcast(Type::f64, k.number_of(Type::i64, 0, f64_bits)) : bitcast(Type::f32, k.number_of(Type::i32, 0, f32_bits));
}
Value magnitude_bits(const Value& x) { return is_wide(x) ? bits_of(x) & 0x7fffffffffffffff : bits_of(x) & 0x7fffffff; }

// The nearest whole number; |x| is small enough to have halves.
Value nearest(const Value& x) { return trunc(x + select(x < 0.0, number_like(x, -0.5), 0.5)); }

// e^x = 2^n · (1 + p): x = n · ln 2 + r, ln 2 in two parts of which the first has few enough bits for n times it to be exact, and p = e^r -
// 1 by its series on |r| <= ln(2) / 2.
struct Exponential {
  Value n, p;
};
Exponential exponential(const Value& x) {
  // 1/k! for k from 14 down to 2; f32 begins at 1/8!. What is left out is below 2^-56 (2^-26) of p.
  static constexpr std::array<double, 13> kSeries{1.0 / 87178291200, 1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
                                                  1.0 / 362880,      1.0 / 40320,      1.0 / 5040,      1.0 / 720,      1.0 / 120,
                                                  1.0 / 24,          1.0 / 6,          1.0 / 2};
  const Value n = nearest(x * std::numbers::log2e);
  const Value r = is_wide(x) ? x - n * 0x1.62e42fefa38p-1 - n * 0x1.ef35793c7673p-45 : x - n * 0x1.62e4p-1 - n * 0x1.7f7d1cp-20;
  const Value series = polynomial(r, std::span(kSeries).last(is_wide(x) ? 13 : 7));
  return {cast(Type::i32, n), fma(r * r, series, r)};
}

// Σ z^k / (2k + 1) for k >= 1, so that atanh(s) = s + s · atanh_rest(s²). 2^-56 (2^-26) is reached for z <= 0.03 by 9 (4) terms, for
// z <= 1/9 by 16 (7).
Value atanh_rest(const Value& z, size_t terms) {
  static constexpr std::array<double, 16> kSeries{1.0 / 33, 1.0 / 31, 1.0 / 29, 1.0 / 27, 1.0 / 25, 1.0 / 23, 1.0 / 21, 1.0 / 19,
                                                  1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3};
  return z * polynomial(z, std::span(kSeries).last(terms));
}

}  // namespace

Value number_like(const Value& x, double number) { return x.builder()->number_of(x.type(), number, 0); }
Value infinity_like(const Value& x) { return from_bits(x, 0x7f800000, 0x7ff0000000000000); }
Value nan_like(const Value& x) { return from_bits(x, 0x7fc00000, 0x7ff8000000000000); }
Value is_nan(const Value& x) { return magnitude_bits(x) > (is_wide(x) ? 0x7ff0000000000000 : 0x7f800000); }

namespace detail {

bool is_wide(const Value& x) { return x.type() == Type::f64; }

Value bits_of(const Value& x) { return bitcast(is_wide(x) ? Type::i64 : Type::i32, x); }

Value power_of_two(const Value& n, const Value& like) {
  return is_wide(like) ? bitcast(Type::f64, cast(Type::i64, n + 1023) << 52) : bitcast(Type::f32, (n + 127) << 23);
}

Value at_most(const Value& x, double high) { return select(x > high, number_like(x, high), x); }

Value clamped(const Value& x, double low, double high) { return select(x < low, number_like(x, low), at_most(x, high)); }

Value polynomial(const Value& x, std::span<const double> coefficients) {
  Value sum = number_like(x, coefficients.front());
  for (const double coefficient : coefficients.subspan(1)) sum = fma(sum, x, coefficient);
  return sum;
}

Value exp_of_negative(const Value& x) { return ir::native_exp2(x * std::numbers::log2e); }

Value expm1_within_64(const Value& x) {
  const Exponential e = exponential(x);
  const Value power = power_of_two(e.n, x);
  return fma(e.p, power, power - 1.0);
}

SplitMantissa split_mantissa(const Value& x) {
  const bool wide = is_wide(x);
  const Value bits = bits_of(x);
  // Subnormal numbers are whole multiples of the smallest one: their bits, as a number.
  const Value small = wide ? bits < 0x10000000000000 : bits < 0x800000;
  const Value normal = select(small, bits_of(cast(x.type(), bits)), bits);
  const Value base = select(small, x.builder()->constant(wide ? -1074 : -149), 0);
  const Value above = wide ? normal - 0x3fe6a09e667f3bcd : normal - 0x3f3504f3;  // √½
  const Value k = wide ? above >> 52 : above >> 23;
  const Value fraction = bitcast(x.type(), normal - (wide ? k << 52 : k << 23)) - 1.0;
  return {cast(x.type(), cast(Type::i32, k) + base), fraction};
}

// 2 atanh(x / (2 + x))
Value log1p_near_zero(const Value& x) {
  const Value s = x / (x + 2.0);
  return fma(s * 2.0, atanh_rest(s * s, is_wide(x) ? 16 : 7), s * 2.0);
}

}  // namespace detail

Value floor(const Value& x) {
  const Value whole = trunc(x);
  return select(whole > x, whole - 1.0, whole);
}

Value ceil(const Value& x) {
  const Value whole = trunc(x);
  return select(whole < x, whole + 1.0, whole);
}

Value round(const Value& x) {
  // x - trunc(x) is exact; infinities have no halves.
  const Value whole = trunc(x), half = abs(x - whole) >= 0.5;
  return select(half, whole + select(x < 0.0, number_like(x, -1), 1.0), whole);
}

Value sqrt(const Value& x) {
  // A zero keeps its sign, which a compiler may lose where it makes a maximum of the choice.
  return select(x < 0.0, nan_like(x), select(x == 0.0, x, ir::native_sqrt(select(x < 0.0, 0.0, x))));
}

// f32: 2^(x·log2(e)), whose product is rounded, and its error, which the exponent would magnify, comes back as a factor 1 + error·ln(2).
Value exp(const Value& x) {
  if (is_wide(x)) {
    // Powers beyond the normal numbers in two factors.
    const Exponential e = exponential(clamped(x, -746, 710));
    const Value half = e.n >> 1;
    return (e.p + 1.0) * power_of_two(half, x) * power_of_two(e.n - half, x);
  }
  constexpr double kLog2ERest = 0x1.4ae0cp-26;  // what rounding log2(e) left
  const Value exponent = x * std::numbers::log2e;
  const Value error = fma(x, std::numbers::log2e, -exponent) + x * kLog2ERest;
  const Value power = ir::native_exp2(exponent);
  // Infinity times the correction could be NaN.
  const Value finite = (abs(exponent) < 160.0) & (power < infinity_like(x));
  return select(finite, fma(power, error * 0.69314718055994530942, power), power);
}

// x = 2^k · (1 + f): log(x) = k · ln 2 + log(1 + f). With s = f / (2 + f), log(1 + f) = 2 atanh(s) = f - s · f + 2 s · rest(s²), and since
// s · f = f²/2 - s · f²/2, this is f - (h - s · (h + 2 rest)), h = f²/2, in which the large term f is exact.
Value log(const Value& x) {
  const bool wide = is_wide(x);
  const auto [exponent, f] = detail::split_mantissa(x);
  const Value s = f / (f + 2.0), half_square = f * f * 0.5;
  const Value correction = s * (half_square + atanh_rest(s * s, wide ? 9 : 4) * 2.0);
  const Value low = wide ? exponent * 0x1.ef35793c7673p-45 : exponent * 0x1.7f7d1cp-20;
  const Value high = wide ? exponent * 0x1.62e42fefa38p-1 : exponent * 0x1.62e4p-1;
  const Value finite = high + (f - (half_square - (correction + low)));
  const Value positive = select(magnitude_bits(x) == magnitude_bits(infinity_like(x)), x, finite);
  return select(x > 0.0, positive, select(x == 0.0, -infinity_like(x), nan_like(x)));
}

// e^(y · log |x|), with the sign of x where y is odd.
Value pow(const Value& x, const Value& y) {
  const Value a = abs(x);
  const Value power = exp(y * log(a));
  const Value whole = trunc(y) == y, odd = whole & (trunc(y * 0.5) * 2.0 != y);
  // The sign bit: -0 has one too.
  const Value is_negative = bits_of(x) < 0;
  const Value infinite = infinity_like(x);
  Value result = select(is_negative & odd, -power, power);
  result = select((x < 0.0) & !whole & (a < infinite), nan_like(x), result);
  result = select((a == 1.0) & (abs(y) == infinite), 1.0, result);
  result = select(is_nan(x) | is_nan(y), nan_like(x), result);
  return select((x == 1.0) | (y == 0.0), 1.0, result);
}

// t / (t + 2) for t = e^2x - 1.
Value tanh(const Value& x) {
  const Value t = detail::expm1_within_64(detail::at_most(abs(x), 22) * 2.0);
  const Value positive = t / (t + 2.0);
  return select(bits_of(x) < 0, -positive, positive);
}

// Up to 1 a polynomial in x², beyond 1 - e^(-x²) · G(t), t = 3 / (3 + x). The polynomials interpolate erf(√z) / √z on [0, 1] and
// G = e^(x²) · erfc(x) for x in [1, 6], computed to 60 digits, at Chebyshev's points; relative errors 2^-29 and 2^-24 for f32, 2^-56 and
// 2^-53 for f64, of which G's count for erfc(1) = 0.157 at most.
Value erf(const Value& x) {
  static constexpr std::array<double, 7> kNear{7.8758750626854883e-05, -0.00080168642871658699, 0.0051890874234339739,
                                               -0.026854212010626412,  0.11283594715160218,     -0.37612626666720334,
                                               1.1283791658483509};
  static constexpr std::array<double, 12> kNearWide{-7.7958988270021425e-10, 1.3720064546777686e-08,  -1.6208483801871705e-07,
                                                    1.6447424703317362e-06,  -1.4924736907419661e-05, 0.00012055294904839707,
                                                    -0.00085483259753896918, 0.0052239776071164225,   -0.02686617064323777,
                                                    0.11283791670945006,     -0.37612638903183543,    1.1283791670955126};
  static constexpr std::array<double, 8> kFar{-0.14182386638808617, 0.76383982805805006, -0.76371598106957361, 0.81206945662698282,
                                              -0.11332252327961634, 0.26591190221140054, 0.17646580670973092,  0.0007403725289071403};
  static constexpr std::array<double, 15> kFarWide{0.020974634373878025, -0.16339979786477143, 0.55212489879097493,   -1.0544846624326085,
                                                   1.2845213284110484,   -1.1403447661861297,  0.78278709561443494,   -0.32402734413473527,
                                                   0.23944370560563541,  0.083713521777390887, 0.16634344697146503,   0.17605997733145118,
                                                   0.18823627493257508,  0.18805132677476255,  3.7809408605387703e-07};
  const bool wide = is_wide(x);
  const Value a = detail::at_most(abs(x), 6), square = a * a;
  const Value near = a * polynomial(square, wide ? std::span<const double>(kNearWide) : std::span<const double>(kNear));
  const Value t = number_like(x, 3) / (a + 3.0);
  const Value far = 1.0 - exp(-square) * polynomial(t, wide ? std::span<const double>(kFarWide) : std::span<const double>(kFar));
  const Value positive = select(a < 1.0, near, far);
  return select(bits_of(x) < 0, -positive, positive);
}

// From e^-|x|, which never overflows.
Value sigmoid(const Value& x) {
  const Value e = exp(-abs(x));
  return select(x < 0.0, e, 1.0) / (e + 1.0);
}

namespace {

// x · sigmoid(v) through the root of e^-|v|: the power itself may be too small for a device where x times it is not.
Value times_sigmoid(const Value& x, const Value& v) {
  const Value root = exp(abs(v) * -0.5), denominator = fma(root, root, 1.0);
  return select(v < 0.0, x * root * root, x) / denominator;
}

}  // namespace

Value silu(const Value& x) { return times_sigmoid(x, x); }

// (1 + tanh(v)) / 2 = sigmoid(2v)
Value gelu(const Value& x) { return times_sigmoid(x, (x + x * x * x * 0.044715) * 1.5957691216057307117); }

Value gelu_erf(const Value& x) { return x * 0.5 * (erf(x * 0.70710678118654752440) + 1.0); }

Value softplus(const Value& x) { return max(x, 0.0) + detail::log1p_near_zero(exp(-abs(x))); }

// tanh(log(1 + e^x)) = ((1 + e^x)² - 1) / ((1 + e^x)² + 1); numerator and denominator times e^-2x where x > 0. The root as above.
Value mish(const Value& x) {
  const Value root = exp(abs(x) * -0.5), e = root * root, positive = e * 2.0 + 1.0;
  const Value denominator = select(x > 0.0, positive + e * e * 2.0, e * (e + 2.0) + 2.0);
  return select(x > 0.0, x * positive, x * root * root * (e + 2.0)) / denominator;
}

Value elu(const Value& x, const Value& alpha) { return select(x > 0.0, x, alpha * detail::expm1_within_64(clamped(x, -64, 0))); }

Value hard_sigmoid(const Value& x) { return clamped(fma(x, 1.0 / 6, 0.5), 0, 1); }

}  // namespace wick::kernels
