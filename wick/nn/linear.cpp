#include "wick/nn/linear.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/linear.h"

namespace wick::nn {

Linear::Linear(Tensor weight, std::optional<Tensor> bias) : weight_(std::move(weight)), bias_(std::move(bias)) {
  if (weight_.rank() != 2) fail(ErrorCode::shape_mismatch, "Linear: the weight {} must be [out, in]", weight_.describe());
  if (bias_ && bias_->shape() != Shape{weight_.shape()[0]}) {
    fail(ErrorCode::shape_mismatch, "Linear: the bias {} must be [{}] for the weight {}", bias_->describe(), weight_.shape()[0],
         weight_.describe());
  }
}

Linear::Linear(int64_t in, int64_t out, const LayerOptions& options)
    : Linear(linear_b(in, out, options.bias, new_variables("Linear", {in, out}, options))) {}

void Linear::visit_tensors(const TensorVisitor& visit) const {
  visit("weight", weight_, TensorRole::parameter);
  if (bias_) visit("bias", *bias_, TensorRole::parameter);
}

Tensor Linear::forward(const Tensor& x) const {
  check_assigned("Linear", {{"x", x}});
  if (x.rank() == 0 || x.shape().last() != weight_.shape()[1]) {
    fail(ErrorCode::shape_mismatch, "Linear: x {} must be [..., {}] for the weight {}", x.describe(), weight_.shape()[1],
         weight_.describe());
  }
  if (!is_quantized(weight_.dtype()) && x.dtype() != weight_.dtype()) {
    fail(ErrorCode::dtype_mismatch, "Linear: x {} and the weight {} differ in dtype; convert one", x.describe(), weight_.describe());
  }
  if (is_quantized(weight_.dtype())) {
    const Tensor result = wick::linear(x, weight_);
    return bias_ ? result + *bias_ : result;
  }
  const Tensor rows = x.rank() == 2 ? x : x.reshape({x.elements() / std::max<int64_t>(x.shape().last(), 1), x.shape().last()});
  Tensor result = rows.matmul(weight_.t());
  if (bias_) result = result + *bias_;
  if (x.rank() == 2) return result;
  std::vector<int64_t> dims(x.dims().begin(), x.dims().end());
  dims.back() = weight_.shape()[0];
  return result.reshape(Shape(std::span<const int64_t>(dims)));
}

Linear linear_b(int64_t in, int64_t out, bool bias, const VarBuilder& builder) {
  const double bound = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(in, 1)));
  const init::Uniform around_zero{-bound, bound};
  const Tensor weight = builder.get_with_hints({out, in}, "weight", around_zero);
  if (!bias) return Linear(weight);
  return Linear(weight, builder.get_with_hints({out}, "bias", around_zero));
}

Linear linear(int64_t in, int64_t out, const VarBuilder& builder) { return linear_b(in, out, true, builder); }

Linear linear_no_bias(int64_t in, int64_t out, const VarBuilder& builder) { return linear_b(in, out, false, builder); }

}  // namespace wick::nn
