// Tensors made by placing others side by side.
#include <algorithm>
#include <vector>

#include "base/error.h"
#include "tensor/ops/copy.h"
#include "tensor/tape.h"
#include "tensor/tensor.h"

namespace wick {
namespace {

Shape with_extent(const Shape& shape, int dim, int64_t extent) {
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims[static_cast<size_t>(dim)] = extent;
  return Shape(std::span<const int64_t>(dims));
}

void check_parts(std::span<const Tensor> tensors, int axis) {
  const Tensor& first = tensors.front();
  for (const Tensor& tensor : tensors) {
    if (tensor.dtype() != first.dtype()) {
      fail(ErrorCode::dtype_mismatch, "cat: {} beside {}; convert one", tensor.describe(), first.describe());
    }
    if (tensor.rank() != first.rank() || with_extent(tensor.shape(), axis, 0) != with_extent(first.shape(), axis, 0)) {
      fail(ErrorCode::shape_mismatch, "cat: {} beside {} along dimension {}: the other extents must be equal", tensor.describe(),
           first.describe(), axis);
    }
    if (&tensor.device().runtime() != &first.device().runtime()) {
      fail(ErrorCode::device_mismatch, "cat: {} beside {}; move them to one device first", tensor.describe(), first.describe());
    }
  }
}

}  // namespace

Tensor Tensor::cat(std::span<const Tensor> tensors, int dim) {
  if (tensors.empty()) fail(ErrorCode::invalid_argument, "cat: no tensor given");
  const int axis = tensors.front().normalize_axis(dim);
  check_parts(tensors, axis);
  int64_t extent = 0;
  for (const Tensor& tensor : tensors) extent += tensor.shape()[axis];
  Tensor result = empty(with_extent(tensors.front().shape(), axis, extent), tensors.front().dtype(), tensors.front().device());
  std::vector<const Tensor*> inputs;
  int64_t start = 0;
  for (const Tensor& tensor : tensors) {
    wick::copy(tensor.detach(), result.narrow(axis, start, tensor.shape()[axis]));
    start += tensor.shape()[axis];
    inputs.push_back(&tensor);
  }
  const auto gradient = [axis](GradientContext& context) {
    int64_t from = 0;
    for (size_t index = 0; index < context.inputs(); ++index) {
      const int64_t length = context.input_shape(index)[axis];
      context.give(index, context.gradient().narrow(axis, from, length));
      from += length;
    }
  };
  record("cat", gradient, inputs, result);
  return result;
}

Tensor Tensor::stack(std::span<const Tensor> tensors, int dim) {
  if (tensors.empty()) fail(ErrorCode::invalid_argument, "stack: no tensor given");
  const int axis = dim < 0 ? dim + tensors.front().rank() + 1 : dim;
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) parts.push_back(tensor.unsqueeze(axis));
  return cat(parts, axis);
}

Tensor Tensor::pad_with_zeros(int dim, int64_t left, int64_t right) const {
  const int axis = normalize_axis(dim);
  if (left < 0 || right < 0) {
    fail(ErrorCode::invalid_argument, "pad_with_zeros: {} and {} elements beside dimension {} of {}", left, right, dim, describe());
  }
  const int64_t length = shape()[axis];
  Tensor result = zeros(with_extent(shape(), axis, left + length + right), dtype(), device());
  wick::copy(detach(), result.narrow(axis, left, length));
  const auto gradient = [axis, left, length](GradientContext& context) { context.give(0, context.gradient().narrow(axis, left, length)); };
  const Tensor* const input = this;
  record("pad_with_zeros", gradient, std::span(&input, 1), result);
  return result;
}

}  // namespace wick
