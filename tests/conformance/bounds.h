// How far a result may lie from the f64 reference: bounds derived from the dtype and the op's arithmetic, never from a device.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "wick/layout/dtype.h"
#include "wick/tensor/ops/op_rule.h"

namespace wick::conformance {

// The error allowed for each element before it is rounded to the output's dtype; that rounding may add half a unit in the last place.
// An empty Bound requires the reference's value rounded once.
using Inputs = std::span<const ReferenceTensor>;
using Bound = std::function<std::vector<double>(Inputs inputs, const ReferenceTensor& expected)>;

// Half a unit in the last place of a float dtype at that magnitude; 0 for integers.
[[nodiscard]] double half_ulp(DType dtype, double value);
// Unit roundoff of the arithmetic on a dtype: f64's own for f64, f32's for all others.
[[nodiscard]] double roundoff(DType dtype);
// What the dtype holds after one rounding of each value: the reference's own conversion.
[[nodiscard]] std::vector<double> rounded(DType dtype, const ReferenceTensor& tensor);

// allowed(x, y) for each element x of the first input and y of the result.
[[nodiscard]] Bound elementwise_bound(std::function<double(double x, double y)> allowed);

// A sum of k products in any order errs by at most k · u · Σ |a·b|, and by about √k · u · Σ |a·b| at worst where roundings are
// independent; allowed is (4 + 2 √k) · u · Σ |a·b|, the sum being the op's own reference on absolute values.
[[nodiscard]] std::vector<double> product_bound(OpId op, const void* params, double u, int64_t k, Inputs inputs, const Shape& shape);

// Columns whose activations may share a scale in a product with weights of that dtype: 256 where its blocks have 256, else 32.
[[nodiscard]] int64_t activation_block(DType weight) noexcept;
// Activations rounded to 8 bits: x = s · q + e with s = max |x| / 127 over the block of columns and |e| ≤ s / 2, so that a product with a
// weight row w errs by at most Σ over blocks of max |x| / 254 · Σ |w| over the block.
[[nodiscard]] std::vector<double> activation_rounding_bound(const ReferenceTensor& x, const ReferenceTensor& weight, int64_t block);
// The standard deviation of that error where roundings are independent: e is uniform in ± s / 2, so σ² = Σ s² / 12 · Σ w².
[[nodiscard]] std::vector<double> activation_rounding_deviation(const ReferenceTensor& x, const ReferenceTensor& weight, int64_t block);

}  // namespace wick::conformance
