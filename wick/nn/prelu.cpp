#include "wick/nn/prelu.h"

#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"

namespace wick::nn {

PReLU::PReLU(Tensor weight) : weight_(std::move(weight)) {
  if (weight_.rank() > 1 || weight_.elements() == 0) {
    fail(ErrorCode::shape_mismatch, "PReLU: the weight {} must be one slope or [channels]", weight_.describe());
  }
}

void PReLU::visit_tensors(const TensorVisitor& visit) const { visit("weight", weight_, TensorRole::parameter); }

Tensor PReLU::forward(const Tensor& x) const {
  check_assigned("PReLU", {{"x", x}});
  Tensor slope = weight_;
  if (weight_.elements() > 1) {
    const int channel = x.rank() > 1 ? 1 : 0;
    if (x.rank() == 0 || x.shape()[channel] != weight_.elements()) {
      fail(ErrorCode::shape_mismatch, "PReLU: x {} must have {} channels in dimension 1, one for each slope", x.describe(),
           weight_.elements());
    }
    std::vector<int64_t> dims(static_cast<size_t>(x.rank()), 1);
    dims[static_cast<size_t>(channel)] = weight_.elements();
    slope = weight_.reshape(Shape(std::span<const int64_t>(dims)));
  } else {
    slope = weight_.reshape(Shape());
  }
  return x.gt(0).where_cond(x, x * slope);
}

PReLU prelu(std::optional<int64_t> channels, const VarBuilder& builder) {
  return PReLU(builder.get_with_hints({channels.value_or(1)}, "weight", init::Constant{0.25}));
}

}  // namespace wick::nn
