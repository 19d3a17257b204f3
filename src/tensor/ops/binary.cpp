#include "tensor/ops/binary.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "tensor/ops/dispatch.h"
#include "tensor/ops/reference.h"

namespace wick {
namespace {

// NaN in either operand gives NaN, as PyTorch's minimum and maximum do.
double pick(double lhs, double rhs, bool smaller) {
  if (std::isnan(lhs) || std::isnan(rhs)) return std::numeric_limits<double>::quiet_NaN();
  return (lhs < rhs) == smaller ? lhs : rhs;
}

double apply(BinaryKind kind, double lhs, double rhs) {
  switch (kind) {
    case BinaryKind::add: return lhs + rhs;
    case BinaryKind::sub: return lhs - rhs;
    case BinaryKind::mul: return lhs * rhs;
    case BinaryKind::div: return lhs / rhs;
    case BinaryKind::minimum: return pick(lhs, rhs, true);
    case BinaryKind::maximum: return pick(lhs, rhs, false);
  }
  return 0;
}

// Two's complement, wrapping around; a division by zero gives 0. Operands beyond 2^53 are no longer exact here.
int64_t apply_integer(BinaryKind kind, int64_t lhs, int64_t rhs) {
  const auto left = static_cast<uint64_t>(lhs);
  const auto right = static_cast<uint64_t>(rhs);
  switch (kind) {
    case BinaryKind::add: return static_cast<int64_t>(left + right);
    case BinaryKind::sub: return static_cast<int64_t>(left - right);
    case BinaryKind::mul: return static_cast<int64_t>(left * right);
    case BinaryKind::div: return rhs == 0 ? 0 : rhs == -1 ? static_cast<int64_t>(0 - left) : lhs / rhs;
    case BinaryKind::minimum: return std::min(lhs, rhs);
    case BinaryKind::maximum: return std::max(lhs, rhs);
  }
  return 0;
}

void reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const BinaryKind kind = static_cast<const BinaryParams*>(params)->kind;
  const DType dtype = outputs[0].dtype;
  if (is_integer(dtype)) {
    for (size_t i = 0; i < outputs[0].values.size(); ++i) {
      const int64_t value = apply_integer(kind, as_integer(inputs[0].values[i]), as_integer(inputs[1].values[i]));
      outputs[0].values[i] = wrap_integer(dtype, value);
    }
    return;
  }
  for (size_t i = 0; i < outputs[0].values.size(); ++i) outputs[0].values[i] = apply(kind, inputs[0].values[i], inputs[1].values[i]);
}

}  // namespace

const OpRule kBinaryRule = {OpId::binary, 0, reference};

Tensor binary(BinaryKind kind, const Tensor& lhs, const Tensor& rhs) {
  const std::string_view name = kBinaryNames[static_cast<size_t>(kind)];
  if (lhs.dtype() != rhs.dtype()) {
    fail(ErrorCode::dtype_mismatch, "{}: lhs {} and rhs {} differ in dtype; convert one", name, lhs.describe(), rhs.describe());
  }
  if (is_quantized(lhs.dtype()))
    fail(ErrorCode::unsupported, "{}: not defined for {}; convert it to a float dtype first", name, lhs.describe());
  const Shape shape = broadcast_shapes(lhs.shape(), rhs.shape(), name);
  Tensor result = Tensor::empty(shape, lhs.dtype(), lhs.device());
  const Tensor left = lhs.broadcast_to(shape);
  const Tensor right = rhs.broadcast_to(shape);
  const BinaryParams params{kind};
  if (result.elements() > 0) dispatch(OpId::binary, &params, {&left, &right}, {&result});
  return result;
}

}  // namespace wick
