// Operand checks of linear and linear_experts, and common parts of their reference loops.
#pragma once

#include <cmath>
#include <optional>

#include "wick/tensor/ops/op_rule.h"
#include "wick/tensor/ops/reference.h"
#include "wick/tensor/tensor.h"

namespace wick {

// Σ x[row] · weight[output].
[[nodiscard]] inline double dot_row(const ReferenceTensor& x, size_t row, const ReferenceTensor& weight, size_t output) {
  const auto k = static_cast<size_t>(x.shape.last());
  return dot_reference(x.values.data() + row * k, weight.values.data() + output * k, k);
}

// The activation of a pair of products in f64.
[[nodiscard]] double gate_value(GateKind kind, double gate, double up);

// x as implementations read it, row-major f32: itself, or `copy`. Errors: dtype_mismatch unless it is f32, f16 or bf16.
[[nodiscard]] const Tensor& activations_of(const char* op, const Tensor& x, std::optional<Tensor>& copy);
// A tensor as kernels read biases, dense and from where its buffer begins: itself, or `copy`.
[[nodiscard]] inline const Tensor& at_start(const Tensor& tensor, std::optional<Tensor>& copy) {
  return tensor.layout().offset() == 0 && tensor.is_contiguous() ? tensor : copy.emplace(tensor.copy());
}
// Errors: dtype_mismatch for a weight of integers; shape_mismatch for one that is not [n, k], or [experts, n, k], with x's k; for a
// quantized one whose rows are not dense and whole blocks, or of which only a part can be read.
void check_weight(const char* op, const Tensor& x, const Tensor& weight, int rank);
// Why no device multiplies with weights of that dtype.
[[nodiscard]] std::string_view linear_unsupported(DType dtype);

}  // namespace wick
