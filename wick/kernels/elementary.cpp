// Functions of math.h that are made of others: inverse and hyperbolic ones, logarithms and powers to other bases, remainders.
#include <array>
#include <numbers>

#include "wick/kernels/math.h"
#include "wick/kernels/math_detail.h"

namespace wick::kernels {

using namespace ir;

using detail::bits_of;
using detail::clamped;
using detail::is_wide;
using detail::polynomial;
using detail::power_of_two;

namespace {

constexpr double kHalfPi = 1.5707963267948966192;
constexpr double kHalfPiRest = 6.1232339957367658e-17;      // of f64's π/2
constexpr double kHalfPiRestNarrow = -4.3711390001862e-08;  // of f32's

Value has_sign(const Value& x) { return bits_of(x) < 0; }
Value with_sign_of(const Value& magnitude, const Value& x) { return select(has_sign(x), -magnitude, magnitude); }

// atan on [0, 1]: beyond tan(π/8) as π/4 + atan((t - 1) / (t + 1)); below, its series in t² <= 0.172, whose first term left out is below
// 2^-28 (f64: 2^-57) of t.
Value arc_tangent_below_1(const Value& t) {
  static constexpr std::array<double, 22> kSeries = [] {
    std::array<double, 22> terms{};
    for (int k = 1; k <= 22; ++k) terms[static_cast<size_t>(22 - k)] = (k % 2 == 0 ? 1.0 : -1.0) / (2 * k + 1);
    return terms;
  }();
  const Value far = t > 0.41421356237309504880;
  const Value s = select(far, (t - 1.0) / (t + 1.0), t), z = s * s;
  const Value series = fma(s * z, polynomial(z, std::span(kSeries).last(is_wide(t) ? 22 : 10)), s);
  return select(far, series + kHalfPi / 2, series);
}

// π/2 - r; what rounding π/2 left comes back.
Value from_quarter_turn(const Value& r) { return number_like(r, kHalfPi) - (r - (is_wide(r) ? kHalfPiRest : kHalfPiRestNarrow)); }

// log(x) = exponent · ln 2 + of_mantissa, for x > 0.
struct Logarithm {
  Value exponent, of_mantissa;
};
Logarithm logarithm(const Value& x) {
  const auto [exponent, fraction] = detail::split_mantissa(x);
  return {exponent, detail::log1p_near_zero(fraction)};
}

// A logarithm's value at 0, below it and at infinity.
Value at_the_ends(const Value& x, const Value& finite) {
  const Value positive = select(x == infinity_like(x), x, finite);
  return select(x > 0.0, positive, select(x == 0.0, -infinity_like(x), nan_like(x)));
}

// Positive x and y apart: x = mantissa · 2^exponent with a whole mantissa of 24 (53) bits, or fewer where x is subnormal.
struct Parts {
  Value mantissa, exponent;  // u32 (f64: i64); i32
};
Parts parts_of(const Value& x) {
  const Value bits = bits_of(x);
  if (is_wide(x)) {
    const Value field = bits >> 52, fraction = bits & 0xfffffffffffff;
    return {select(field == 0, fraction, fraction | 0x10000000000000), cast(Type::i32, max(field, 1)) - 1075};
  }
  const Value field = bits >> 23, fraction = bits & 0x7fffff;
  return {cast(Type::u32, select(field == 0, fraction, fraction | 0x800000)), max(field, 1) - 150};
}

}  // namespace

Value tan(const Value& x) { return sin(x) / cos(x); }

Value atan(const Value& x) {
  const Value a = abs(x), beyond = a > 1.0;
  const Value r = arc_tangent_below_1(select(beyond, 1.0 / max(a, 1.0), a));
  return with_sign_of(select(beyond, from_quarter_turn(r), r), x);
}

// 2 atan(x / (1 + √(1 - x²)))
Value asin(const Value& x) {
  const Value a = detail::at_most(abs(x), 1);
  const Value r = arc_tangent_below_1(a / (sqrt((1.0 - a) * (a + 1.0)) + 1.0)) * 2.0;
  return select(abs(x) > 1.0, nan_like(x), with_sign_of(r, x));
}

// For |x| <= 1/2 π/2 - asin(x); beyond 2 asin(√((1 - |x|) / 2)), or π less that.
Value acos(const Value& x) {
  const Value a = detail::at_most(abs(x), 1), near = a < 0.5;
  const Value root = sqrt((1.0 - a) * 0.5);
  const Value s = select(near, a, root);
  const Value r = arc_tangent_below_1(s / (sqrt((1.0 - s) * (s + 1.0)) + 1.0)) * 2.0;
  const Value outer = select(x < 0.0, from_quarter_turn(r + r - kHalfPi), r + r);
  return select(abs(x) > 1.0, nan_like(x), select(near, from_quarter_turn(with_sign_of(r, x)), outer));
}

Value atan2(const Value& y, const Value& x) {
  const Value a = abs(x), b = abs(y), infinite = infinity_like(x);
  const Value steep = b > a, larger = max(a, b), smaller = min(a, b);
  // Numbers near the ends are brought nearer to 1, since a device may divide by multiplying with a reciprocal.
  const Value wide_end = number_like(x, is_wide(x) ? 0x1p1000 : 0x1p100), scale = number_like(x, is_wide(x) ? 0x1p-100 : 0x1p-40);
  const Value factor = select(larger > wide_end, scale, select(larger < 1.0 / wide_end, 1.0 / scale, 1.0));
  const Value finite = (smaller * factor) / select(larger == 0.0, 1.0, larger * factor);
  const Value ratio = select(larger == infinite, select(smaller == infinite, number_like(x, 1), 0.0), finite);
  const Value r = arc_tangent_below_1(ratio), first = select(steep, from_quarter_turn(r), r);
  const Value second = select(steep, r + kHalfPi, from_quarter_turn(r - kHalfPi));
  const Value result = with_sign_of(select(has_sign(x), second, first), y);
  return select(is_nan(x) | is_nan(y), nan_like(x), result);
}

// From t = e^|x| - 1 below 1: (t + t / (t + 1)) / 2; beyond as e^|x| / 2 - e^-|x| / 2, through the root of e^|x|, which does not overflow.
Value sinh(const Value& x) {
  const Value a = abs(x), t = detail::expm1_within_64(detail::at_most(a, 1)), root = exp(a * 0.5);
  const Value far = root * 0.5 * root - 0.5 / (root * root);
  return with_sign_of(select(a < 1.0, (t + t / (t + 1.0)) * 0.5, select(a == infinity_like(x), a, far)), x);
}

Value cosh(const Value& x) {
  const Value a = abs(x), root = exp(a * 0.5);
  return select(a == infinity_like(x), a, root * 0.5 * root + 0.5 / (root * root));
}

// log(1 + a + a² / (1 + √(1 + a²))); for a large a log(2a).
Value asinh(const Value& x) {
  const Value a = abs(x), large = a > (is_wide(x) ? 0x1p28 : 0x1p13), small = select(large, number_like(x, 1), a);
  const Value square = small * small, near = log1p(small + square / (sqrt(square + 1.0) + 1.0));
  return with_sign_of(select(large, log(a) + std::numbers::ln2, near), x);
}

// With t = x - 1: log(1 + t + √(2t + t²)); for a large x log(2x).
Value acosh(const Value& x) {
  const Value large = x > (is_wide(x) ? 0x1p28 : 0x1p13);
  const Value t = select(large, number_like(x, 1), max(x, 1.0) - 1.0);
  const Value near = log1p(t + sqrt(t * (t + 2.0)));
  return select(x >= 1.0, select(large, log(x) + std::numbers::ln2, near), nan_like(x));
}

// log(1 + 2a / (1 - a)) / 2
Value atanh(const Value& x) {
  const Value a = abs(x), inside = select(a < 1.0, a, 0.0);
  const Value r = log1p((inside + inside) / (1.0 - inside)) * 0.5;
  return select(a <= 1.0, with_sign_of(select(a == 1.0, infinity_like(x), r), x), nan_like(x));
}

Value exp2(const Value& x) {
  if (!is_wide(x)) return ir::native_exp2(clamped(x, -200, 200));
  const Value bounded = clamped(x, -1100, 1100), n = floor(bounded + 0.5);
  const Value whole = cast(Type::i32, n), half = whole >> 1;
  return exp((bounded - n) * std::numbers::ln2) * power_of_two(half, x) * power_of_two(whole - half, x);
}

Value expm1(const Value& x) {
  const Value finite = select(x > 60.0, exp(x), detail::expm1_within_64(clamped(x, -60, 60)));
  return select(x == 0.0, x, finite);  // with its sign
}

Value log2(const Value& x) {
  const Logarithm l = logarithm(x);
  return at_the_ends(x, fma(l.of_mantissa, std::numbers::log2e, l.exponent));
}

// log10(2) in two parts, of which the first has few enough bits for any exponent times it to be exact.
Value log10(const Value& x) {
  const Logarithm l = logarithm(x);
  const double high = is_wide(x) ? 0x1.34413509f79p-2 : 0x1.344p-2, low = 0.30102999566398119521 - high;
  const Value rest = fma(l.exponent, low, l.of_mantissa * std::numbers::log10e);
  return at_the_ends(x, fma(l.exponent, high, rest));
}

Value log1p(const Value& x) {
  const Value near = (x >= -0.5) & (x <= 1.0);
  return select(near, detail::log1p_near_zero(select(near, x, 0.0)), log(x + 1.0));
}

// x = m · 2^e and y = n · 2^f: m · 2^(e - f) modulo n, a few bits of the exponent at a time. All of it is of whole numbers, so exact.
Value fmod(const Value& x, const Value& y) {
  ir::KernelBuilder& k = *x.builder();
  const bool wide = is_wide(x);
  const Value a = abs(x), b = abs(y), infinite = infinity_like(x);
  const Value refused = is_nan(x) | is_nan(y) | (a == infinite) | (bits_of(b) == 0);
  // What is returned as it is, or refused, takes no steps.
  const Value smaller = bits_of(a) < bits_of(b), plain = refused | smaller;
  const Parts dividend = parts_of(select(plain, 1.0, a)), divisor = parts_of(select(plain, 1.0, b));
  ir::Variable rest = k.variable(dividend.mantissa % divisor.mantissa);
  const uint32_t step = wide ? 10 : 8;
  const Value shift = cast(Type::u32, dividend.exponent - divisor.exponent);
  k.loop(0U, shift, step, [&](const Value& done) { rest = (Value(rest) << min(shift - done, step)) % divisor.mantissa; });
  const Value half = divisor.exponent >> 1;
  const Value magnitude = cast(x.type(), Value(rest)) * power_of_two(half, x) * power_of_two(divisor.exponent - half, x);
  return select(refused, nan_like(x), select(smaller, x, with_sign_of(magnitude, x)));
}

}  // namespace wick::kernels
