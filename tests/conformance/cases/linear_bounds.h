// How far products of activations with weights may lie from the reference, for linear, its gated pairs and its experts.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "conformance/bounds.h"

namespace wick::conformance {

// product_bound for the sum of a plain product, and the bound of rounded activations on top unless the call asks for exact ones.
inline std::vector<double> linear_error(const LinearParams& params, DType dtype, const ReferenceTensor& x, const ReferenceTensor& weight,
                                        const Shape& shape) {
  const LinearParams plain{params.precise};
  const std::vector<ReferenceTensor> operands = {x, weight};
  std::vector<double> bounds = product_bound(OpId::linear, &plain, 0x1p-24, x.shape.last(), operands, shape);
  if (params.precise) return bounds;
  const std::vector<double> rounding = activation_rounding_bound(x, weight, activation_block(dtype));
  for (size_t i = 0; i < bounds.size(); ++i) bounds[i] += rounding[i];
  return bounds;
}

inline Bound linear_bound(const LinearParams& params, DType dtype) {
  return [params, dtype](Inputs inputs, const ReferenceTensor& expected) {
    return linear_error(params, dtype, inputs[0], inputs[1], expected.shape);
  };
}

// A product and how far it may be off.
struct Estimate {
  double value, error;
};

// The activation f(g) · u of two estimates: |f'| is at most `slope` near g, so g's error moves the result by slope · Δg · |u| and u's by
// |f(g)| · Δu. Its own arithmetic errs by some units of |result| and, where 1 + tanh or 1 + erf cancel, of |g| · |u|.
inline double gate_error(GateKind kind, const Estimate& gate, const Estimate& up, double result) {
  const double g = std::fabs(gate.value), reach = g + gate.error;
  const double most_up = std::fabs(up.value) + up.error + (kind == GateKind::swiglu_oai ? 1 : 0);
  const double slope = kind == GateKind::relu_sqr ? 2 * reach : 1.2;
  const double size = kind == GateKind::relu_sqr ? reach * reach : reach;
  return slope * gate.error * most_up + size * up.error + 0x1p-24 * ((12 + 4 * g) * std::fabs(result) + 8 * g * most_up) + 0x1p-126;
}

}  // namespace wick::conformance
