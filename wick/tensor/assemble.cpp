// Tensors made by placing others side by side.
#include <algorithm>
#include <array>
#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/copy.h"
#include "wick/tensor/ops/fill.h"
#include "wick/tensor/ops/index_ids.h"
#include "wick/tensor/tape.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

// Tensors of one dtype and device, and of one shape but for dimension `axis` (-1: of one shape).
void check_parts(std::string_view function, std::span<const Tensor> tensors, int axis) {
  const Tensor& first = tensors.front();
  const auto extents = [axis](const Tensor& tensor) { return axis < 0 ? tensor.shape() : with_extent(tensor.shape(), axis, 0); };
  for (size_t index = 1; index < tensors.size(); ++index) {
    const Tensor& tensor = tensors[index];
    const auto differ = [&](ErrorCode code, const std::string& remedy) {
      fail(code, "{}: tensor 0 is {} and tensor {} is {}; {}", function, first.describe(), index, tensor.describe(), remedy);
    };
    if (tensor.dtype() != first.dtype()) differ(ErrorCode::dtype_mismatch, "convert one");
    if (tensor.rank() != first.rank() || extents(tensor) != extents(first)) {
      differ(ErrorCode::shape_mismatch, axis < 0 ? "all must have one shape" : fmt::format("they may differ in dimension {} only", axis));
    }
    if (&tensor.device().runtime() != &first.device().runtime()) differ(ErrorCode::device_mismatch, "move them to one device first");
  }
}

// cat of parts that fit, for `function`.
Tensor joined(std::string_view function, std::span<const Tensor> tensors, int axis) {
  int64_t extent = 0;
  for (const Tensor& tensor : tensors) extent = checked_extent(function, tensor, Checked(extent) + tensor.shape()[axis]);
  const Tensor& first = tensors.front();
  Tensor result = make_result(function, with_extent(first.shape(), axis, extent), first.dtype(), first.device());
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

}  // namespace

Tensor Tensor::cat(std::span<const Tensor> tensors, int dim) {
  if (tensors.empty()) fail(ErrorCode::invalid_argument, "cat: no tensors given; at least one is needed");
  check_assigned("cat", tensors);
  const int axis = resolve_dim("cat", dim, tensors.front().shape());
  check_parts("cat", tensors, axis);
  return joined("cat", tensors, axis);
}

Tensor Tensor::stack(std::span<const Tensor> tensors, int dim) {
  if (tensors.empty()) fail(ErrorCode::invalid_argument, "stack: no tensors given; at least one is needed");
  check_assigned("stack", tensors);
  const int axis = resolve_new_dim("stack", dim, tensors.front().shape());
  check_parts("stack", tensors, -1);
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) parts.push_back(on_behalf_of("stack", [&] { return tensor.unsqueeze(axis); }));
  return joined("stack", parts, axis);
}

Tensor Tensor::pad_with_zeros(int dim, int64_t left, int64_t right) const {
  check_assigned("pad_with_zeros", *this);
  const int axis = resolve_dim("pad_with_zeros", dim, shape());
  if (left < 0 || right < 0) {
    fail(ErrorCode::invalid_argument, "pad_with_zeros: padding {} and {} for dimension {} of {}; both must be 0 or more", left, right, dim,
         describe());
  }
  const int64_t length = shape()[axis];
  const int64_t padded = checked_extent("pad_with_zeros", *this, Checked(left) + length + right);
  Tensor result = make_result("pad_with_zeros", with_extent(shape(), axis, padded), dtype(), device());
  fill(result, 0, "pad_with_zeros");
  wick::copy(detach(), result.narrow(axis, left, length));
  const auto gradient = [axis, left, length](GradientContext& context) { context.give(0, context.gradient().narrow(axis, left, length)); };
  const Tensor* const input = this;
  record("pad_with_zeros", gradient, std::span(&input, 1), result);
  return result;
}

Tensor Tensor::pad_with_same(int dim, int64_t left, int64_t right) const {
  check_assigned("pad_with_same", *this);
  const int axis = resolve_dim("pad_with_same", dim, shape());
  const int64_t length = shape()[axis];
  if (left < 0 || right < 0) {
    fail(ErrorCode::invalid_argument, "pad_with_same: padding {} and {} for dimension {} of {}; both must be 0 or more", left, right, dim,
         describe());
  }
  if (left == 0 && right == 0) return *this;
  if (length == 0) fail(ErrorCode::shape_mismatch, "pad_with_same: dimension {} of {} has no slice to repeat", dim, describe());
  const Tensor first = narrow(axis, 0, 1).broadcast_to(with_extent(shape(), axis, left));
  const Tensor last = narrow(axis, length - 1, 1).broadcast_to(with_extent(shape(), axis, right));
  return joined("pad_with_same", std::array{first, *this, last}, axis);
}

Tensor Tensor::roll(int64_t shift, int dim) const {
  check_assigned("roll", *this);
  const int axis = resolve_dim("roll", dim, shape());
  const int64_t length = shape()[axis];
  if (length == 0) return *this;
  const int64_t rest = shift % length;
  const int64_t places = rest < 0 ? rest + length : rest;
  if (places == 0) return *this;
  return joined("roll", std::array{narrow(axis, length - places, places), narrow(axis, 0, length - places)}, axis);
}

Tensor Tensor::repeat(const Extents& counts) const {
  check_assigned("repeat", *this);
  const Shape times = counts.checked("repeat");
  if (times.rank() < rank()) {
    fail(ErrorCode::shape_mismatch, "repeat: {} numbers for {}; at least {} are needed, one for each dimension", times.rank(), describe(),
         rank());
  }
  Tensor result = broadcast_left(Shape(std::vector<int64_t>(static_cast<size_t>(times.rank() - rank()), 1)));
  // From the innermost dimension outwards each step repeats larger blocks.
  for (int dim = times.rank() - 1; dim >= 0; --dim) {
    if (times[dim] == 1) continue;
    int64_t outer = 1;
    for (int before = 0; before < dim; ++before) outer = checked_extent("repeat", result, Checked(outer) * result.shape()[before]);
    const int64_t block = outer == 0 ? 0 : result.elements() / outer;
    const Shape repeated = with_extent(result.shape(), dim, checked_extent("repeat", result, Checked(result.shape()[dim]) * times[dim]));
    const Shape blocks{outer, times[dim], block};
    result = on_behalf_of("repeat", [&] { return result.reshape({outer, 1, block}).broadcast_to(blocks).reshape(repeated); });
  }
  return result;
}

}  // namespace wick
