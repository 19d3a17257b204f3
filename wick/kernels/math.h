// Functions of f32 and f64 under C's names, for every argument that C's <math.h> takes: infinities, zeros with their signs and NaN
// included. Errors are a few units in the last place; those of pow grow with |y · log x|.
#pragma once

#include "wick/ir/builder.h"

namespace [[gnu::visibility("default")]] wick {
namespace kernels {

// A number of x's type; infinity and NaN are computed from their bits, since there is no literal of them.
[[nodiscard]] ir::Value number_like(const ir::Value& x, double number);
[[nodiscard]] ir::Value infinity_like(const ir::Value& x);
[[nodiscard]] ir::Value nan_like(const ir::Value& x);
// By the bits: a device may hold that x == x whatever x is.
[[nodiscard]] ir::Value is_nan(const ir::Value& x);

[[nodiscard]] ir::Value floor(const ir::Value& x);
[[nodiscard]] ir::Value ceil(const ir::Value& x);
[[nodiscard]] ir::Value round(const ir::Value& x);  // halves away from zero
// The exact remainder x - n · y, n being x / y truncated, with the sign of x. NaN where x is infinite or y is zero.
[[nodiscard]] ir::Value fmod(const ir::Value& x, const ir::Value& y);

[[nodiscard]] ir::Value sqrt(const ir::Value& x);  // NaN below zero
[[nodiscard]] ir::Value exp(const ir::Value& x);
[[nodiscard]] ir::Value exp2(const ir::Value& x);
[[nodiscard]] ir::Value expm1(const ir::Value& x);
[[nodiscard]] ir::Value log(const ir::Value& x);   // -infinity at zero, NaN below
[[nodiscard]] ir::Value log2(const ir::Value& x);  // whole for powers of two
[[nodiscard]] ir::Value log10(const ir::Value& x);
[[nodiscard]] ir::Value log1p(const ir::Value& x);  // -infinity at -1, NaN below
[[nodiscard]] ir::Value pow(const ir::Value& x, const ir::Value& y);

[[nodiscard]] ir::Value sin(const ir::Value& x);  // NaN for infinities
[[nodiscard]] ir::Value cos(const ir::Value& x);
[[nodiscard]] ir::Value tan(const ir::Value& x);
[[nodiscard]] ir::Value asin(const ir::Value& x);  // NaN outside [-1, 1]
[[nodiscard]] ir::Value acos(const ir::Value& x);
[[nodiscard]] ir::Value atan(const ir::Value& x);
[[nodiscard]] ir::Value atan2(const ir::Value& y, const ir::Value& x);  // the angle of the point (x, y)
[[nodiscard]] ir::Value sinh(const ir::Value& x);
[[nodiscard]] ir::Value cosh(const ir::Value& x);
[[nodiscard]] ir::Value tanh(const ir::Value& x);
[[nodiscard]] ir::Value asinh(const ir::Value& x);
[[nodiscard]] ir::Value acosh(const ir::Value& x);  // NaN below 1
[[nodiscard]] ir::Value atanh(const ir::Value& x);  // infinities at -1 and 1, NaN outside
[[nodiscard]] ir::Value erf(const ir::Value& x);

// Activations of networks.
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
