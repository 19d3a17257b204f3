// Functions of f32 over the nodes that every language has.
#pragma once

#include "ir/builder.h"

namespace wick::kernels {

[[nodiscard]] ir::Value exp(const ir::Value& x);
// For x <= 0, as in a softmax: a relative error of |x| units in the last place, where exp(x) counts for less.
[[nodiscard]] ir::Value exp_of_negative(const ir::Value& x);
[[nodiscard]] ir::Value log(const ir::Value& x);     // x > 0
[[nodiscard]] ir::Value sin_of(const ir::Value& x);  // |x| <= 2^17
[[nodiscard]] ir::Value cos_of(const ir::Value& x);  // |x| <= 2^17
[[nodiscard]] ir::Value tanh(const ir::Value& x);
[[nodiscard]] ir::Value sigmoid(const ir::Value& x);  // 1 / (1 + e^-x)
[[nodiscard]] ir::Value silu(const ir::Value& x);     // x · sigmoid(x)
[[nodiscard]] ir::Value gelu(const ir::Value& x);     // the tanh form (Hendrycks & Gimpel 2016)

}  // namespace wick::kernels
