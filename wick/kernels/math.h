// Functions of f32 and f64 over the nodes that every language has. NaN goes through them only where this is said.
#pragma once

#include <span>

#include "wick/ir/builder.h"

namespace [[gnu::visibility("default")]] wick {
namespace kernels {

// A number of x's type; infinity and NaN are computed from their bits, since there is no literal of them.
[[nodiscard]] ir::Value number_like(const ir::Value& x, double number);
[[nodiscard]] ir::Value infinity_like(const ir::Value& x);
[[nodiscard]] ir::Value nan_like(const ir::Value& x);
// By the bits: a device may hold that x == x whatever x is.
[[nodiscard]] ir::Value is_nan(const ir::Value& x);
[[nodiscard]] bool is_wide(const ir::Value& x);       // f64
[[nodiscard]] ir::Value bits_of(const ir::Value& x);  // an i32 or an i64
// 2^n for an n (i32) whose power is a normal number of `like`'s type.
[[nodiscard]] ir::Value power_of_two(const ir::Value& n, const ir::Value& like);
// Σ coefficients · x^k, the highest power first.
[[nodiscard]] ir::Value polynomial(const ir::Value& x, std::span<const double> coefficients);

// x = 2^exponent · (1 + fraction) with 1 + fraction in [√½, √2), for finite x > 0; both numbers are of x's type.
struct SplitMantissa {
  ir::Value exponent, fraction;
};
[[nodiscard]] SplitMantissa split_mantissa(const ir::Value& x);

[[nodiscard]] ir::Value floor(const ir::Value& x);
[[nodiscard]] ir::Value ceil(const ir::Value& x);
[[nodiscard]] ir::Value round(const ir::Value& x);        // halves away from zero
[[nodiscard]] ir::Value square_root(const ir::Value& x);  // NaN below zero
[[nodiscard]] ir::Value exp(const ir::Value& x);
// For x <= 0, as in a softmax: a relative error of |x| units in the last place, where exp(x) counts for less. f32.
[[nodiscard]] ir::Value exp_of_negative(const ir::Value& x);
[[nodiscard]] ir::Value expm1(const ir::Value& x);  // e^x - 1 for |x| <= 64
[[nodiscard]] ir::Value log(const ir::Value& x);    // -infinity at zero, NaN below
[[nodiscard]] ir::Value log1p(const ir::Value& x);  // log(1 + x) for x in [-1/2, 1]
// C's pow, NaNs included.
[[nodiscard]] ir::Value pow(const ir::Value& x, const ir::Value& y);
[[nodiscard]] ir::Value tanh(const ir::Value& x);
[[nodiscard]] ir::Value erf(const ir::Value& x);
[[nodiscard]] ir::Value sigmoid(const ir::Value& x);   // 1 / (1 + e^-x)
[[nodiscard]] ir::Value silu(const ir::Value& x);      // x · sigmoid(x)
[[nodiscard]] ir::Value gelu(const ir::Value& x);      // the tanh form (Hendrycks & Gimpel 2016)
[[nodiscard]] ir::Value gelu_erf(const ir::Value& x);  // x / 2 · (1 + erf(x / √2))
[[nodiscard]] ir::Value softplus(const ir::Value& x);  // log(1 + e^x)
[[nodiscard]] ir::Value mish(const ir::Value& x);      // x · tanh(softplus(x))
[[nodiscard]] ir::Value elu(const ir::Value& x, const ir::Value& alpha);
[[nodiscard]] ir::Value hard_sigmoid(const ir::Value& x);  // clamp(x / 6 + 1/2, 0, 1)

}  // namespace kernels
}  // namespace wick
