// Parts of the functions of math.h, each right for the arguments that its comment names alone.
#pragma once

#include <span>

#include "wick/ir/builder.h"

namespace wick::kernels::detail {

[[nodiscard]] bool is_wide(const ir::Value& x);       // f64
[[nodiscard]] ir::Value bits_of(const ir::Value& x);  // an i32 or an i64
// 2^n for an n (i32) whose power is a normal number of `like`'s type.
[[nodiscard]] ir::Value power_of_two(const ir::Value& n, const ir::Value& like);
// Σ coefficients · x^k, the highest power first.
[[nodiscard]] ir::Value polynomial(const ir::Value& x, std::span<const double> coefficients);
// x, but a bound beyond it; NaN stays, which min and max may lose.
[[nodiscard]] ir::Value at_most(const ir::Value& x, double high);
[[nodiscard]] ir::Value clamped(const ir::Value& x, double low, double high);

// x = 2^exponent · (1 + fraction) with 1 + fraction in [√½, √2), for finite x > 0; both numbers are of x's type.
struct SplitMantissa {
  ir::Value exponent, fraction;
};
[[nodiscard]] SplitMantissa split_mantissa(const ir::Value& x);

// e^x for x <= 0, as in a softmax: a relative error of |x| units in the last place, where exp(x) counts for less. f32.
[[nodiscard]] ir::Value exp_of_negative(const ir::Value& x);
[[nodiscard]] ir::Value expm1_within_64(const ir::Value& x);  // e^x - 1 for |x| <= 64
[[nodiscard]] ir::Value log1p_near_zero(const ir::Value& x);  // log(1 + x) for x in [-1/2, 1]

}  // namespace wick::kernels::detail
