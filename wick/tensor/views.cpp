// Views of a tensor and their gradients.
#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "wick/base/checked.h"
#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/tape.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

struct NarrowParams {
  int dim;
  int64_t start;
};
struct TransposeParams {
  int dim0;
  int dim1;
};
struct PermuteParams {
  std::array<int, kMaxRank> order;
  int rank;
};
struct StrideParams {
  int dim;
  int64_t start;
  int64_t step;
};
struct UnfoldParams {
  int dim;
  int64_t step;
};

void narrow_gradient(GradientContext& context) {
  const auto& [dim, start] = context.parameters<NarrowParams>();
  const Tensor& g = context.gradient();
  const int64_t rest = context.input_shape(0)[dim] - start - g.shape()[dim];
  context.give(0, g.pad_with_zeros(dim, start, rest));
}

void transpose_gradient(GradientContext& context) {
  const auto& [dim0, dim1] = context.parameters<TransposeParams>();
  context.give(0, context.gradient().transpose(dim0, dim1));
}

void permute_gradient(GradientContext& context) {
  const PermuteParams& params = context.parameters<PermuteParams>();
  std::array<int, kMaxRank> inverse{};
  for (int dim = 0; dim < params.rank; ++dim) inverse[static_cast<size_t>(params.order[static_cast<size_t>(dim)])] = dim;
  context.give(0, context.gradient().permute(std::span<const int>(inverse).first(static_cast<size_t>(params.rank))));
}

void broadcast_gradient(GradientContext& context) {
  const Tensor& g = context.gradient();
  const Shape& shape = context.input_shape(0);
  const int added = g.rank() - shape.rank();
  std::vector<int> repeated(static_cast<size_t>(added));
  std::iota(repeated.begin(), repeated.end(), 0);
  for (int dim = 0; dim < shape.rank(); ++dim) {
    if (shape[dim] == 1 && g.shape()[dim + added] != 1) repeated.push_back(dim + added);
  }
  context.give(0, repeated.empty() ? g : g.sum_keepdim(Dims(repeated)).reshape(shape));
}

void reshape_gradient(GradientContext& context) { context.give(0, context.gradient().reshape(context.input_shape(0))); }

void flip_gradient(GradientContext& context) { context.give(0, context.gradient().flip(context.parameters<int>())); }

// start, start + step, …: `count` numbers, for index_add.
Tensor steps(int64_t start, int64_t step, int64_t count, const Device& device) {
  std::vector<int64_t> ids(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) ids[static_cast<size_t>(i)] = start + i * step;
  return Tensor::from_vector(ids, {count}, device);
}

void stride_gradient(GradientContext& context) {
  const auto& [dim, start, step] = context.parameters<StrideParams>();
  const Tensor& g = context.gradient();
  const Tensor zeros = Tensor::zeros(context.input_shape(0), g.dtype(), g.device());
  context.give(0, zeros.index_add(steps(start, step, g.shape()[dim], g.device()), g, dim));
}

void unfold_gradient(GradientContext& context) {
  const auto& [dim, step] = context.parameters<UnfoldParams>();
  const Tensor& g = context.gradient();
  const int64_t windows = g.shape()[dim];
  const int64_t size = g.shape().last();
  std::vector<int64_t> ids;
  for (int64_t window = 0; window < windows; ++window) {
    for (int64_t i = 0; i < size; ++i) ids.push_back(window * step + i);
  }
  std::vector<int> order(static_cast<size_t>(g.rank() - 1));
  std::iota(order.begin(), order.end(), 0);
  order.insert(order.begin() + dim + 1, g.rank() - 1);
  const Tensor slices = g.permute(order).flatten(dim, dim + 1);
  const Tensor zeros = Tensor::zeros(context.input_shape(0), g.dtype(), g.device());
  context.give(0, zeros.index_add(Tensor::from_vector(ids, {windows * size}, g.device()), slices, dim));
}

// A view that is tracked where its source is.
template <class Params>
Tensor tracked_view(const Tensor& source, Tensor result, std::string_view name, GradientFunction gradient, const Params& params) {
  if (source.is_tracked()) {
    const Tensor* const input = &source;
    record(name, gradient, bytes_of(params), std::span(&input, 1), result);
  }
  return result;
}

}  // namespace

Tensor Tensor::narrow(int dim, int64_t start, int64_t length) const {
  check_assigned("narrow", *this);
  const int axis = resolve_dim("narrow", dim, shape());
  return tracked_view(*this, view(layout_.narrow(axis, start, length)), "narrow", narrow_gradient, NarrowParams{axis, start});
}

Tensor Tensor::transpose(int dim0, int dim1) const {
  check_assigned("transpose", *this);
  const TransposeParams params{resolve_dim("transpose", dim0, shape()), resolve_dim("transpose", dim1, shape())};
  return tracked_view(*this, view(layout_.transpose(params.dim0, params.dim1)), "transpose", transpose_gradient, params);
}

Tensor Tensor::permute(std::span<const int> order) const {
  check_assigned("permute", *this);
  PermuteParams params{{}, rank()};
  if (order.size() != static_cast<size_t>(rank())) {
    fail(ErrorCode::invalid_argument, "permute: {} dimensions for {}; {} are needed", order.size(), describe(), rank());
  }
  for (size_t at = 0; at < order.size(); ++at) params.order[at] = resolve_dim("permute", order[at], shape());
  const Layout layout = layout_.permute(std::span<const int>(params.order).first(order.size()));
  return tracked_view(*this, view(layout), "permute", permute_gradient, params);
}

Tensor Tensor::broadcast_to(const Extents& extents) const {
  check_assigned("broadcast_to", *this);
  const Shape wanted = extents.checked("broadcast_to");
  if (wanted == shape()) return *this;
  return tracked_view(*this, view(layout_.broadcast_to(wanted)), "broadcast_to", broadcast_gradient, 0);
}

Tensor Tensor::broadcast_left(const Extents& left) const {
  check_assigned("broadcast_left", *this);
  const Shape added = left.checked("broadcast_left");
  std::vector<int64_t> dims(added.dims().begin(), added.dims().end());
  dims.insert(dims.end(), this->dims().begin(), this->dims().end());
  return broadcast_to(Extents(dims).checked("broadcast_left"));
}

Tensor Tensor::squeeze(int dim) const {
  check_assigned("squeeze", *this);
  const int axis = resolve_dim("squeeze", dim, shape());
  if (shape()[axis] != 1) return *this;
  return tracked_view(*this, view(layout_.squeeze(axis)), "squeeze", reshape_gradient, 0);
}

Tensor Tensor::unsqueeze(int dim) const {
  check_assigned("unsqueeze", *this);
  const int axis = resolve_new_dim("unsqueeze", dim, shape());
  return tracked_view(*this, view(layout_.unsqueeze(axis)), "unsqueeze", reshape_gradient, 0);
}

Tensor Tensor::flip(const Dims& dims) const {
  check_assigned("flip", *this);
  Tensor result = *this;
  for (const int dim : dims.resolve(shape(), "flip")) {
    result = tracked_view(result, result.view(result.layout_.flip(dim)), "flip", flip_gradient, dim);
  }
  return result;
}

Tensor Tensor::stride_slice(int dim, int64_t start, int64_t length, int64_t step) const {
  check_assigned("stride_slice", *this);
  const int axis = resolve_dim("stride_slice", dim, shape());
  if (step < 1) fail(ErrorCode::invalid_argument, "stride_slice: step {} for {}; allowed: 1 or more", step, describe());
  const std::optional<int64_t> reach = length <= 0 ? 0 : (Checked(length - 1) * step + 1).value();
  if (length < 0 || start < 0 || !reach || start > shape()[axis] - *reach) {
    fail(ErrorCode::index_out_of_range,
         "stride_slice: {} elements from {} on by {} are out of range for dimension {} of shape {}; allowed: elements 0 to {}", length,
         start, step, dim, shape().to_string(), shape()[axis] - 1);
  }
  const Layout part = layout_.narrow(axis, start, *reach);
  std::array<int64_t, kMaxRank> extents{};
  std::array<int64_t, kMaxRank> strides{};
  std::copy(dims().begin(), dims().end(), extents.begin());
  std::copy(part.strides().begin(), part.strides().end(), strides.begin());
  extents[static_cast<size_t>(axis)] = length;
  if (length > 1 && elements() > 0) strides[static_cast<size_t>(axis)] *= step;
  const auto count = static_cast<size_t>(rank());
  const Layout layout(Shape(std::span<const int64_t>(extents).first(count)), std::span<const int64_t>(strides).first(count), part.offset());
  return tracked_view(*this, view(layout), "stride_slice", stride_gradient, StrideParams{axis, start, step});
}

Tensor Tensor::unfold(int dim, int64_t size, int64_t step) const {
  check_assigned("unfold", *this);
  const int axis = resolve_dim("unfold", dim, shape());
  if (size < 0 || step < 1 || size > shape()[axis]) {
    fail(ErrorCode::invalid_argument,
         "unfold: windows of {} every {} elements of dimension {} of shape {}; allowed: windows of 0 to {}, a step of 1 or more", size,
         step, dim, shape().to_string(), shape()[axis]);
  }
  std::vector<int64_t> extents(dims().begin(), dims().end());
  std::vector<int64_t> strides(layout_.strides().begin(), layout_.strides().end());
  const auto at = static_cast<size_t>(axis);
  extents.push_back(size);
  strides.push_back(strides[at]);
  extents[at] = (extents[at] - size) / step + 1;
  if (extents[at] > 1 && elements() > 0) strides[at] *= step;
  const Shape windows = Extents(extents).checked("unfold");
  const Layout layout(windows, std::span<const int64_t>(strides), layout_.offset());
  return tracked_view(*this, view(layout), "unfold", unfold_gradient, UnfoldParams{axis, step});
}

std::vector<Tensor> Tensor::split(int64_t size, int dim) const {
  check_assigned("split", *this);
  const int axis = resolve_dim("split", dim, shape());
  if (size < 1) fail(ErrorCode::invalid_argument, "split: parts of {} slices of {}; allowed: 1 or more", size, describe());
  std::vector<Tensor> parts;
  const int64_t extent = shape()[axis];
  for (int64_t start = 0, length = 0; start < extent; start += length) {
    length = std::min(size, extent - start);
    parts.push_back(narrow(axis, start, length));
  }
  if (parts.empty()) parts.push_back(*this);
  return parts;
}

// The first extent % chunks parts are one longer than the others, as candle has it; fewer parts where there are fewer elements.
std::vector<Tensor> Tensor::chunk(int64_t chunks, int dim) const {
  check_assigned("chunk", *this);
  const int axis = resolve_dim("chunk", dim, shape());
  if (chunks < 1) fail(ErrorCode::invalid_argument, "chunk: {} parts of {}; allowed: 1 or more", chunks, describe());
  const int64_t extent = shape()[axis];
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (int64_t index = 0; index < std::min(chunks, extent); ++index) {
    const int64_t length = extent / chunks + (index < extent % chunks ? 1 : 0);
    parts.push_back(narrow(axis, start, length));
    start += length;
  }
  if (parts.empty()) parts.push_back(*this);
  return parts;
}

namespace {

Tensor slice_at(std::string_view function, const Tensor& x, int dim, int64_t index) {
  check_assigned(function, x);
  const int axis = resolve_dim(function, dim, x.shape());
  const int64_t extent = x.shape()[axis];
  if (index < 0 || index >= extent) {
    fail(ErrorCode::index_out_of_range, "{}: index {} is out of range for dimension {} of shape {}; {}", function, index, dim,
         x.shape().to_string(), extent == 0 ? "it is empty" : fmt::format("allowed: 0 to {}", extent - 1));
  }
  return x.narrow(axis, index, 1).squeeze(axis);
}

}  // namespace

Tensor Tensor::get(int64_t index) const { return slice_at("get", *this, 0, index); }

Tensor Tensor::get_on_dim(int dim, int64_t index) const { return slice_at("get_on_dim", *this, dim, index); }

Tensor Tensor::reshape(const Shape& shape) const {
  check_assigned("reshape", *this);
  if (shape == this->shape()) return *this;
  if (is_quantized(dtype()) && shape.elements() == elements() && is_contiguous()) {
    (void)storage_bytes_of(shape, dtype());
    return Tensor(storage_, Layout(shape, layout_.offset()));
  }
  if (const std::optional<Layout> layout = layout_.reshape(shape)) {
    return tracked_view(*this, view(*layout), "reshape", reshape_gradient, 0);
  }
  return on_behalf_of("reshape", [&] { return contiguous(); }).reshape(shape);
}

Tensor Tensor::reshape(std::initializer_list<int64_t> dims) const {
  check_assigned("reshape", *this);
  std::vector<int64_t> extents(dims);
  const auto hole = std::find(extents.begin(), extents.end(), -1);
  if (hole != extents.end()) {
    const std::string target = fmt::format("[{}]", fmt::join(std::span(dims.begin(), dims.size()), ", "));
    if (std::count(extents.begin(), extents.end(), -1) > 1) {
      fail(ErrorCode::shape_mismatch, "reshape: {} to {}: more than one extent is -1; only one can be inferred", describe(), target);
    }
    *hole = 1;
    const bool possible = std::all_of(extents.begin(), extents.end(), [](int64_t extent) { return extent >= 0; });
    const Checked others = std::accumulate(extents.begin(), extents.end(), Checked(1), std::multiplies<>());
    if (!possible || others.value_or(0) == 0 || elements() % others.value_or(1) != 0) {
      fail(ErrorCode::shape_mismatch, "reshape: {} to {}: {} elements cannot be divided by the other extents", describe(), target,
           elements());
    }
    *hole = elements() / others.value_or(1);
  } else if (const auto negative = std::find_if(extents.begin(), extents.end(), [](int64_t extent) { return extent < 0; });
             negative != extents.end()) {
    fail(ErrorCode::shape_mismatch, "reshape: shape [{}]: extent {} is negative; allowed: 0 or more, and one -1 for what is left",
         fmt::join(extents, ", "), *negative);
  }
  return reshape(Extents(extents).checked("reshape"));
}

Tensor Tensor::flatten(int first, int last) const {
  check_assigned("flatten", *this);
  if (rank() == 0) return reshape(Shape{1});
  const int from = resolve_dim("flatten", first, shape());
  const int to = resolve_dim("flatten", last, shape());
  if (from >= to) return *this;
  std::vector<int64_t> extents(dims().begin(), dims().begin() + from + 1);
  for (int dim = from + 1; dim <= to; ++dim) extents.back() = checked_extent("flatten", *this, Checked(extents.back()) * shape()[dim]);
  extents.insert(extents.end(), dims().begin() + to + 1, dims().end());
  return reshape(Shape(std::span<const int64_t>(extents)));
}

}  // namespace wick
