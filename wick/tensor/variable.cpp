#include "wick/tensor/variable.h"

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/copy.h"
#include "wick/tensor/tape.h"

namespace wick {

Var Var::from_tensor(const Tensor& tensor) {
  check_assigned("Var", {{"tensor", tensor}});
  if (!is_float(tensor.dtype())) {
    fail(ErrorCode::unsupported, "Var: {} is not of floats, so it has no gradient; convert it with to_dtype first", tensor.describe());
  }
  const Tensor own = tensor.detach().copy();
  return Var(Tensor(own.storage(), own.layout(), std::make_shared<const TapeNode>()));
}

std::optional<Var> Var::behind(const Tensor& tensor) {
  if (!tensor.is_tracked() || !tensor.node()->is_leaf()) return std::nullopt;
  return Var(tensor);
}

void Var::set(const Tensor& value) const {
  check_assigned("Var::set", {{"value", value}});
  if (value.dtype() != tensor_.dtype()) {
    fail(ErrorCode::dtype_mismatch, "Var::set: the variable is {}, the value {}; convert it first", tensor_.describe(), value.describe());
  }
  if (value.shape() != tensor_.shape()) {
    fail(ErrorCode::shape_mismatch, "Var::set: the variable is {}, the value {}; the shapes must be equal", tensor_.describe(),
         value.describe());
  }
  // The new elements may be computed from, or be a view of, the old ones.
  const bool shared = value.storage() == tensor_.storage();
  copy(shared ? value.detach().copy() : value.detach(), tensor_.detach());
}

}  // namespace wick
