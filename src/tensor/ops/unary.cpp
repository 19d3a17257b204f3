#include "tensor/ops/unary.h"

#include <cmath>

#include "base/error.h"
#include "tensor/ops/dispatch.h"
#include "tensor/ops/reference.h"

namespace wick {
namespace {

double apply(UnaryKind kind, double x) {
  switch (kind) {
    case UnaryKind::neg: return -x;
    case UnaryKind::abs: return std::fabs(x);
    case UnaryKind::exp: return std::exp(x);
    case UnaryKind::sqrt: return std::sqrt(x);
    case UnaryKind::recip: return 1 / x;
    case UnaryKind::silu: return x / (1 + std::exp(-x));
    case UnaryKind::tanh: return std::tanh(x);
    case UnaryKind::relu: return std::isnan(x) || x > 0 ? x : 0;
  }
  return 0;
}

void reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const UnaryKind kind = static_cast<const UnaryParams*>(params)->kind;
  const DType dtype = outputs[0].dtype;
  for (size_t i = 0; i < outputs[0].values.size(); ++i) {
    const double value = apply(kind, inputs[0].values[i]);
    outputs[0].values[i] = is_integer(dtype) ? wrap_integer(dtype, as_integer(value)) : value;
  }
}

bool keeps_integers(UnaryKind kind) { return kind == UnaryKind::neg || kind == UnaryKind::abs || kind == UnaryKind::relu; }

}  // namespace

const OpRule kUnaryRule = {OpId::unary, 0, reference};

Tensor unary(UnaryKind kind, const Tensor& x) {
  const std::string_view name = kUnaryNames[static_cast<size_t>(kind)];
  if (is_quantized(x.dtype()) || (is_integer(x.dtype()) && !keeps_integers(kind))) {
    fail(ErrorCode::unsupported, "{}: not defined for {}; convert it to a float dtype first", name, x.describe());
  }
  Tensor result = Tensor::empty(x.shape(), x.dtype(), x.device());
  const UnaryParams params{kind};
  if (x.elements() > 0) dispatch(OpId::unary, &params, {&x}, {&result});
  return result;
}

}  // namespace wick
