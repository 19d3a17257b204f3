// Sums and products of floats with the digits that rounding loses, by arithmetic that every device rounds alike. f32 and f64.
#pragma once

#include "wick/ir/builder.h"

namespace wick::kernels {

// The unevaluated sum of a number and of what it was rounded by.
struct Exact {
  ir::Value value, error;
};
[[nodiscard]] Exact exact_sum(const ir::Value& a, const ir::Value& b);
[[nodiscard]] Exact exact_product(const ir::Value& a, const ir::Value& b);  // |a|, |b| below 2^100
// The sum of both pairs, to about twice the digits.
[[nodiscard]] Exact sum(const Exact& a, const Exact& b);
// value + error, where digits are lost the neighbour with an odd last bit, which can be rounded once more without harm.
[[nodiscard]] ir::Value rounded_to_odd(const Exact& a);
// a · b + c rounded once, also where the device's own is rounded twice. |a|, |b| below 2^100, c too.
[[nodiscard]] ir::Value fused_multiply_add(const ir::Value& a, const ir::Value& b, const ir::Value& c);

}  // namespace wick::kernels
