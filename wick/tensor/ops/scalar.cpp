// The operators with a tensor and a number: affine where that is exact, functions of two tensors elsewhere.
#include <cmath>

#include "wick/tensor/tensor.h"

#include "wick/tensor/assigned.h"

namespace wick {
namespace {

Tensor scalar_like(const Tensor& tensor, double value) { return Tensor::full({}, value, tensor.dtype(), tensor.device()); }

// Whether the dtype has the number itself, as far as integers are concerned.
bool holds(DType dtype, double value) {
  if (!is_integer(dtype)) return true;
  if (value != std::floor(value)) return false;
  switch (dtype) {
    case DType::u8: return value >= 0 && value <= 255;
    case DType::u32: return value >= 0 && value < 0x1p32;
    case DType::i8: return value >= -128 && value <= 127;
    case DType::i16: return value >= -0x1p15 && value < 0x1p15;
    case DType::i32: return value >= -0x1p31 && value < 0x1p31;
    default: return value >= -0x1p63 && value < 0x1p63;
  }
}

// affine computes integers in f64, which has no more than 53 bits.
bool affine_would_round(const Tensor& tensor, double value) { return tensor.dtype() == DType::i64 && holds(DType::i64, value); }

}  // namespace

Tensor operator+(const Tensor& lhs, double rhs) {
  check_assigned("add", {{"lhs", lhs}});
  return affine_would_round(lhs, rhs) ? lhs.add(scalar_like(lhs, rhs)) : lhs.affine(1, rhs);
}

Tensor operator-(const Tensor& lhs, double rhs) {
  check_assigned("sub", {{"lhs", lhs}});
  return affine_would_round(lhs, rhs) ? lhs.sub(scalar_like(lhs, rhs)) : lhs.affine(1, -rhs);
}

Tensor operator*(const Tensor& lhs, double rhs) {
  check_assigned("mul", {{"lhs", lhs}});
  return affine_would_round(lhs, rhs) ? lhs.mul(scalar_like(lhs, rhs)) : lhs.affine(rhs, -0.0);  // -0.0 keeps the sign of zeros
}

// x / c is not x · (1 / c) in the last place.
Tensor operator/(const Tensor& lhs, double rhs) {
  check_assigned("div", {{"lhs", lhs}});
  if (holds(lhs.dtype(), rhs)) return lhs.div(scalar_like(lhs, rhs));
  return (lhs.to_dtype(DType::f64) / rhs).to_dtype(lhs.dtype());
}

Tensor operator+(double lhs, const Tensor& rhs) {
  check_assigned("add", {{"rhs", rhs}});
  return rhs + lhs;
}

Tensor operator-(double lhs, const Tensor& rhs) {
  check_assigned("sub", {{"rhs", rhs}});
  return affine_would_round(rhs, lhs) ? scalar_like(rhs, lhs).sub(rhs) : rhs.affine(-1, lhs);
}

Tensor operator*(double lhs, const Tensor& rhs) {
  check_assigned("mul", {{"rhs", rhs}});
  return rhs * lhs;
}

Tensor operator/(double lhs, const Tensor& rhs) {
  check_assigned("div", {{"rhs", rhs}});
  if (holds(rhs.dtype(), lhs)) return scalar_like(rhs, lhs).div(rhs);
  const Tensor quotient = (lhs / rhs.to_dtype(DType::f64)).to_dtype(rhs.dtype());
  return rhs.eq(0).where_cond(quotient.zeros_like(), quotient);  // integers divided by zero are 0
}

}  // namespace wick
