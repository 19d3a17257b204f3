#include "kernels/math.h"

namespace wick::kernels {

using ir::Value;

namespace {

constexpr float kLog2E = 0x1.715476p+0F;      // log2(e), rounded to f32
constexpr float kLog2ERest = 0x1.4ae0cp-26F;  // what the rounding left
constexpr float kLn2 = 0x1.62e43p-1F;

// x - 2π · n for the nearest n: 2π in three parts of few bits (Cody & Waite 1980), so that the products are exact up to n = 2^15 even where
// a fused multiply-add is not fused.
Value reduced_angle(const Value& x) {
  const Value turns = x * 0x1.45f306p-3F;
  const Value n = trunc(turns + select(turns < 0.0F, x.builder()->constant(-0.5F), 0.5F));
  return x - n * 6.28125F - n * 0x1.fbp-10F - n * 1.255665914602e-06F;
}

// The sine of x in [-π, π]: sin x = sin(π - x) brings it into [-π/2, π/2], where the series to x¹¹ errs by less than 2^-24.
Value sine_series(const Value& x) {
  constexpr float kPi = 0x1.921fb6p+1F, kHalfPi = 0x1.921fb6p+0F;
  const Value half = select(x > kHalfPi, kPi - x, select(x < -kHalfPi, -kPi - x, x));
  const Value s = half * half;
  Value series = x.builder()->constant(-1.0F / 39916800.0F);
  for (const float coefficient : {1.0F / 362880.0F, -1.0F / 5040.0F, 1.0F / 120.0F, -1.0F / 6.0F}) series = fma(series, s, coefficient);
  return fma(half * s, series, half);
}

}  // namespace

// 2^(x·log2(e)): the product is rounded, and its error, which the exponent would magnify, comes back as a factor 1 + error·ln(2).
Value exp(const Value& x) {
  const Value exponent = x * kLog2E;
  const Value error = fma(x, kLog2E, -exponent) + x * kLog2ERest;
  const Value power = exp2(exponent);
  // Infinity times the correction could be no number.
  return select(exponent < 127.0F, fma(power, error * kLn2, power), power);
}

Value exp_of_negative(const Value& x) { return exp2(x * kLog2E); }

Value log(const Value& x) { return log2(x) * kLn2; }

Value sin_of(const Value& x) { return sine_series(reduced_angle(x)); }

Value cos_of(const Value& x) {
  const Value quarter = reduced_angle(x) + 0x1.921fb6p+0F;
  return sine_series(select(quarter > 0x1.921fb6p+1F, quarter - 0x1.921fb6p+2F, quarter));
}

// 1 - 2 / (e^2x + 1); near zero, where that cancels, the series x - x³/3 + 2x⁵/15 - 17x⁷/315 + 62x⁹/2835.
Value tanh(const Value& x) {
  const Value a = min(abs(x), 10.0F);
  const Value far = 1.0F - 2.0F / (exp(a * 2.0F) + 1.0F);
  const Value s = a * a;
  const Value series = fma(s, fma(s, fma(s, 62.0F / 2835.0F, -17.0F / 315.0F), 2.0F / 15.0F), -1.0F / 3.0F);
  const Value near = fma(a * s, series, a);
  const Value positive = select(a < 0.3F, near, far);
  return select(x < 0.0F, -positive, positive);
}

Value sigmoid(const Value& x) { return 1.0F / (exp(-max(x, -87.0F)) + 1.0F); }

Value silu(const Value& x) { return x * sigmoid(x); }

Value gelu(const Value& x) { return x * 0.5F * (tanh((x + x * x * x * 0.044715F) * 0.7978845608F) + 1.0F); }

}  // namespace wick::kernels
