#include "wick/tensor/ops/matmul.h"

#include <algorithm>
#include <array>

#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/op_rule.h"

namespace wick {
namespace {

void matmul_reference(const void* /*params*/, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const Shape& left = inputs[0].shape;
  const auto k = static_cast<size_t>(left[left.rank() - 1]);
  const auto m = static_cast<size_t>(left[left.rank() - 2]);
  const auto n = static_cast<size_t>(outputs[0].shape.last());
  const size_t batches = m * n == 0 ? 0 : outputs[0].values.size() / (m * n);
  for (size_t batch = 0; batch < batches; ++batch) {
    const double* a = inputs[0].values.data() + batch * m * k;
    const double* b = inputs[1].values.data() + batch * k * n;
    double* c = outputs[0].values.data() + batch * m * n;
    for (size_t row = 0; row < m; ++row) {
      for (size_t column = 0; column < n; ++column) {
        double sum = 0;
        for (size_t inner = 0; inner < k; ++inner) sum += a[row * k + inner] * b[inner * n + column];
        c[row * n + column] = sum;
      }
    }
  }
}

// batch's dimensions followed by the matrix's two.
Shape with_batch(const Shape& batch, int64_t rows, int64_t columns) {
  std::vector<int64_t> dims(batch.dims().begin(), batch.dims().end());
  dims.push_back(rows);
  dims.push_back(columns);
  return Shape(std::span<const int64_t>(dims));
}

Shape batch_of(const Shape& shape) { return Shape(shape.dims().first(static_cast<size_t>(shape.rank() - 2))); }

void matmul_gradient(GradientContext& context) {
  const Tensor& g = context.gradient();
  if (context.wants(0)) context.give(0, g.matmul(context.input(1).t()));
  if (context.wants(1)) context.give(1, context.input(0).t().matmul(g));
}

std::string_view matmul_unsupported(DType dtype) {
  return is_integer(dtype) ? kFloatsOnly : is_quantized(dtype) ? "linear multiplies by quantized weights" : "";
}

}  // namespace

const OpRule rules::matmul = {.defining_operand = 0,
                              .reference = matmul_reference,
                              .unsupported = matmul_unsupported,
                              .gradient_kind = GradientKind::function,
                              .gradient = matmul_gradient};

Tensor matmul(const Tensor& lhs, const Tensor& rhs) {
  check_assigned("matmul", {{"lhs", lhs}, {"rhs", rhs}});
  if (lhs.rank() < 2 || rhs.rank() < 2) {
    fail(ErrorCode::shape_mismatch, "matmul: lhs {} and rhs {} must have rank 2 or more", lhs.describe(), rhs.describe());
  }
  if (lhs.dtype() != rhs.dtype() || !is_float(lhs.dtype())) {
    fail(ErrorCode::dtype_mismatch, "matmul: lhs {} and rhs {} must have the same float dtype", lhs.describe(), rhs.describe());
  }
  const int64_t m = lhs.dim(-2);
  const int64_t k = lhs.dim(-1);
  const int64_t n = rhs.dim(-1);
  if (rhs.dim(-2) != k) {
    fail(ErrorCode::shape_mismatch, "matmul: lhs {} and rhs {}: inner dimensions {} and {} differ", lhs.shape().to_string(),
         rhs.shape().to_string(), k, rhs.dim(-2));
  }
  const Shape batch = broadcast_shapes(batch_of(lhs.shape()), batch_of(rhs.shape()), "matmul");
  Tensor result = make_result("matmul", with_batch(batch, m, n), lhs.dtype(), lhs.device());
  const Tensor left = lhs.broadcast_to(with_batch(batch, m, k));
  const Tensor right = rhs.broadcast_to(with_batch(batch, k, n));
  if (k == 0) {  // sums of nothing: zeros, tracked where an operand is
    result = result.zeros_like();
    const std::array<const Tensor*, 2> operands = {&left, &right};
    record(to_string(OpId::matmul), rules::matmul.gradient, {}, operands, result);
    return result;
  }
  apply(OpId::matmul, {&left, &right}, {&result});
  return result;
}

namespace {

// x in base 2^16, the lowest digit first, as f64; the highest carries the sign.
std::vector<Tensor> digits_of(const Tensor& x) {
  constexpr double kBase = 65536;
  const int count = std::max(1, info(x.dtype()).block_bytes / 2);
  std::vector<Tensor> digits;
  Tensor rest = x.to_dtype(DType::i64);
  for (int place = 0; place < count; ++place) {
    const bool is_last = place + 1 == count;
    digits.push_back((is_last ? rest : rest.remainder(kBase)).to_dtype(DType::f64));
    if (!is_last) rest = rest.floor_divide(kBase);
  }
  return digits;
}

// Integers in the arithmetic of f64, exact: digits of 16 bits are multiplied, and as many products added as f64 holds. The sums wrap
// around, as those of two's complement do.
Tensor integer_matmul(const Tensor& lhs, const Tensor& rhs) {
  constexpr int64_t kMaxTerms = int64_t{1} << 20;
  const bool fits = lhs.rank() >= 2 && rhs.rank() >= 2 && lhs.dim(-1) == rhs.dim(-2) && lhs.dim(-1) > 0;
  if (!fits) return matmul(lhs.to_dtype(DType::f64), rhs.to_dtype(DType::f64)).to_dtype(lhs.dtype());  // zeros, or the error
  const int64_t k = lhs.dim(-1);
  const std::vector<Tensor> left = digits_of(lhs), right = digits_of(rhs);
  Tensor sum;
  for (size_t i = 0; i < left.size(); ++i) {
    for (size_t j = 0; j < right.size() && i + j < 4; ++j) {
      for (int64_t start = 0; start < k; start += kMaxTerms) {
        const int64_t terms = std::min(kMaxTerms, k - start);
        Tensor part = matmul(left[i].narrow(-1, start, terms), right[j].narrow(-2, start, terms)).to_dtype(DType::i64);
        for (size_t place = 0; place < i + j; ++place) part = part * 65536.0;
        sum = sum.defined() ? sum + part : part;
      }
    }
  }
  return sum.to_dtype(lhs.dtype());
}

}  // namespace

Tensor Tensor::matmul(const Tensor& other) const {
  const bool integers = defined() && other.defined() && is_integer(dtype()) && dtype() == other.dtype();
  return integers ? integer_matmul(*this, other) : wick::matmul(*this, other);
}

Tensor Tensor::dot(const Tensor& other) const {
  check_assigned("dot", {{"the tensor", *this}, {"other", other}});
  if (rank() != 1 || other.rank() != 1 || shape() != other.shape()) {
    fail(ErrorCode::shape_mismatch, "dot: {} and {} must be vectors of one length", describe(), other.describe());
  }
  return unsqueeze(0).matmul(other.unsqueeze(1)).reshape(Shape());
}

Tensor Tensor::outer(const Tensor& other) const {
  check_assigned("outer", {{"the tensor", *this}, {"other", other}});
  if (rank() != 1 || other.rank() != 1) {
    fail(ErrorCode::shape_mismatch, "outer: {} and {} must be vectors", describe(), other.describe());
  }
  return unsqueeze(1).mul(other);
}

Tensor Tensor::mv(const Tensor& vector) const {
  check_assigned("mv", {{"the tensor", *this}, {"vector", vector}});
  if (rank() != 2 || vector.rank() != 1 || shape()[1] != vector.shape()[0]) {
    fail(ErrorCode::shape_mismatch, "mv: {} must be a matrix and {} a vector of its row length", describe(), vector.describe());
  }
  return matmul(vector.unsqueeze(1)).squeeze(1);
}

}  // namespace wick
