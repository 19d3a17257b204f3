// Elementary functions beyond those of math.h and angles.h: inverse and hyperbolic ones, logarithms and powers to other bases, and the
// remainders of divisions. Of f32 and f64, for every number that is not NaN.
#pragma once

#include "wick/ir/builder.h"

namespace wick::kernels {

[[nodiscard]] ir::Value tangent(const ir::Value& x);
[[nodiscard]] ir::Value arc_sine(const ir::Value& x);    // NaN outside [-1, 1]
[[nodiscard]] ir::Value arc_cosine(const ir::Value& x);  // NaN outside [-1, 1]
[[nodiscard]] ir::Value arc_tangent(const ir::Value& x);
// The angle of the point (x, y) as C's atan2 has it, signed zeros and infinities included.
[[nodiscard]] ir::Value arc_tangent2(const ir::Value& y, const ir::Value& x);

[[nodiscard]] ir::Value hyperbolic_sine(const ir::Value& x);
[[nodiscard]] ir::Value hyperbolic_cosine(const ir::Value& x);
[[nodiscard]] ir::Value area_sine(const ir::Value& x);
[[nodiscard]] ir::Value area_cosine(const ir::Value& x);   // NaN below 1
[[nodiscard]] ir::Value area_tangent(const ir::Value& x);  // infinities at -1 and 1, NaN outside

[[nodiscard]] ir::Value power_of_2(const ir::Value& x);
[[nodiscard]] ir::Value exp_minus_1(const ir::Value& x);
[[nodiscard]] ir::Value log_2(const ir::Value& x);  // whole for powers of two
[[nodiscard]] ir::Value log_10(const ir::Value& x);
[[nodiscard]] ir::Value log_1_plus(const ir::Value& x);  // -infinity at -1, NaN below

// C's fmod: what is left of x, exactly and with its sign, after as many times y as fit toward zero. NaN where x is infinite or y is zero.
[[nodiscard]] ir::Value remainder_toward_zero(const ir::Value& x, const ir::Value& y);

}  // namespace wick::kernels
