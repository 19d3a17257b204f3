#include "wick/layout/layout.h"

#include "wick/base/fail.h"

#include <algorithm>
#include <limits>

#include "wick/base/checked.h"

namespace wick {
namespace {

// The strides of an empty layout are never used, so one that does not fit may be anything.
int64_t times(int64_t stride, int64_t extent) noexcept { return (Checked(stride) * extent).value_or(0); }

// Errors: invalid_argument for a layout whose elements no int64_t can number.
void check_range(const Layout& layout) {
  if (layout.elements() == 0) return;
  Checked low = layout.offset();
  Checked high = Checked(layout.offset()) + 1;
  bool turns = true;  // a stride whose negative is no int64_t cannot be flipped
  for (int dim = 0; dim < layout.rank(); ++dim) {
    if (layout.shape()[dim] == 1) continue;
    const int64_t stride = layout.stride(dim);
    turns = turns && stride != std::numeric_limits<int64_t>::min();
    Checked& end = stride < 0 ? low : high;
    end = end + Checked(stride) * (layout.shape()[dim] - 1);
  }
  if (low.fits() && high.fits() && turns) return;
  fail(ErrorCode::invalid_argument, "layout: shape {} with its strides from element {} on reaches beyond 2^63 - 1 elements",
       layout.shape().to_string(), layout.offset());
}

}  // namespace

Layout::Layout(const Shape& shape, int64_t offset) : shape_(shape), offset_(offset) {
  int64_t stride = 1;
  for (int dim = shape.rank() - 1; dim >= 0; --dim) {
    strides_[static_cast<size_t>(dim)] = stride;
    stride = times(stride, std::max<int64_t>(shape[dim], 1));
  }
  if (offset != 0) check_range(*this);  // from 0 on the last element is number elements() - 1
}

Layout::Layout(const Shape& shape, std::span<const int64_t> strides, int64_t offset) : shape_(shape), offset_(offset) {
  if (static_cast<int>(strides.size()) != shape.rank()) {
    fail(ErrorCode::shape_mismatch, "layout: {} strides for shape {}", strides.size(), shape.to_string());
  }
  std::copy(strides.begin(), strides.end(), strides_.begin());
  check_range(*this);
}

bool Layout::is_contiguous() const noexcept {
  if (elements() == 0) return true;
  int64_t expected = 1;
  for (int dim = rank() - 1; dim >= 0; --dim) {
    if (shape_[dim] != 1 && stride(dim) != expected) return false;
    expected *= shape_[dim];
  }
  return true;
}

std::pair<int64_t, int64_t> Layout::touched_range() const noexcept {
  if (elements() == 0) return {offset_, offset_};
  int64_t low = offset_;
  int64_t high = offset_;
  for (int dim = 0; dim < rank(); ++dim) {
    if (shape_[dim] == 1) continue;
    const int64_t reach = stride(dim) * (shape_[dim] - 1);
    (reach < 0 ? low : high) += reach;
  }
  return {low, high + 1};
}

void Layout::check_dim(int dim, const char* view) const {
  if (dim < 0 || dim >= rank()) {
    fail(ErrorCode::index_out_of_range, "{}: dimension {} is out of range for shape {} of rank {}", view, dim, shape_.to_string(), rank());
  }
}

Layout Layout::narrow(int dim, int64_t start, int64_t length) const {
  check_dim(dim, "narrow");
  if (start < 0 || length < 0 || start > shape_[dim] - length) {
    fail(ErrorCode::index_out_of_range,
         "narrow: start {} and length {} are out of range for dimension {} of shape {}; allowed: start + length up to {}", start, length,
         dim, shape_.to_string(), shape_[dim]);
  }
  std::array<int64_t, kMaxRank> dims{};
  std::copy(shape_.dims().begin(), shape_.dims().end(), dims.begin());
  dims[static_cast<size_t>(dim)] = length;
  const Shape shape(std::span<const int64_t>(dims.data(), static_cast<size_t>(rank())));
  return Layout(shape, strides(), shape.elements() == 0 ? offset_ : offset_ + start * stride(dim));
}

Layout Layout::transpose(int dim0, int dim1) const {
  check_dim(dim0, "transpose");
  check_dim(dim1, "transpose");
  std::array<int, kMaxRank> order{};
  for (int dim = 0; dim < rank(); ++dim) order[static_cast<size_t>(dim)] = dim;
  std::swap(order[static_cast<size_t>(dim0)], order[static_cast<size_t>(dim1)]);
  return permute(std::span<const int>(order.data(), static_cast<size_t>(rank())));
}

Layout Layout::permute(std::span<const int> order) const {
  if (static_cast<int>(order.size()) != rank()) {
    fail(ErrorCode::shape_mismatch, "permute: {} dimensions for shape {}; {} are needed", order.size(), shape_.to_string(), rank());
  }
  std::array<int64_t, kMaxRank> dims{};
  std::array<int64_t, kMaxRank> strides{};
  std::array<bool, kMaxRank> used{};
  for (size_t to = 0; to < order.size(); ++to) {
    check_dim(order[to], "permute");
    const auto from = static_cast<size_t>(order[to]);
    if (used[from]) fail(ErrorCode::shape_mismatch, "permute: dimension {} of shape {} is named twice", from, shape_.to_string());
    used[from] = true;
    dims[to] = shape_[order[to]];
    strides[to] = strides_[from];
  }
  return Layout(Shape(std::span<const int64_t>(dims.data(), order.size())), std::span<const int64_t>(strides.data(), order.size()),
                offset_);
}

Layout Layout::broadcast_to(const Shape& shape) const {
  std::array<int64_t, kMaxRank> strides{};
  const int added = shape.rank() - rank();
  bool fits = added >= 0;
  for (int dim = 0; fits && dim < rank(); ++dim) {
    const bool same = shape[dim + added] == shape_[dim];
    fits = same || shape_[dim] == 1;
    strides[static_cast<size_t>(dim) + static_cast<size_t>(added)] = same ? stride(dim) : 0;
  }
  if (!fits) fail(ErrorCode::shape_mismatch, "broadcast_to: shape {} does not broadcast to {}", shape_.to_string(), shape.to_string());
  return Layout(shape, std::span<const int64_t>(strides.data(), static_cast<size_t>(shape.rank())), offset_);
}

Layout Layout::squeeze(int dim) const {
  check_dim(dim, "squeeze");
  if (shape_[dim] != 1) fail(ErrorCode::shape_mismatch, "squeeze: dimension {} of shape {} is not 1", dim, shape_.to_string());
  std::array<int64_t, kMaxRank> dims{};
  std::array<int64_t, kMaxRank> strides{};
  size_t to = 0;
  for (int from = 0; from < rank(); ++from) {
    if (from == dim) continue;
    dims[to] = shape_[from];
    strides[to++] = stride(from);
  }
  return Layout(Shape(std::span<const int64_t>(dims.data(), to)), std::span<const int64_t>(strides.data(), to), offset_);
}

Layout Layout::unsqueeze(int dim) const {
  if (dim < 0 || dim > rank())
    fail(ErrorCode::index_out_of_range, "unsqueeze: dimension {} is out of range for shape {} of rank {}", dim, shape_.to_string(), rank());
  if (rank() == kMaxRank) fail(ErrorCode::shape_mismatch, "unsqueeze: shape {} has the largest rank, {}", shape_.to_string(), kMaxRank);
  std::array<int64_t, kMaxRank> dims{};
  std::array<int64_t, kMaxRank> strides{};
  size_t to = 0;
  for (int from = 0; from <= rank(); ++from) {
    if (from == dim) {
      dims[to] = 1;
      strides[to++] = from < rank() ? times(stride(from), shape_[from]) : 1;
    }
    if (from == rank()) break;
    dims[to] = shape_[from];
    strides[to++] = stride(from);
  }
  return Layout(Shape(std::span<const int64_t>(dims.data(), to)), std::span<const int64_t>(strides.data(), to), offset_);
}

Layout Layout::flip(int dim) const {
  check_dim(dim, "flip");
  Layout result = *this;
  if (elements() == 0 || shape_[dim] == 1) return result;
  result.offset_ += (shape_[dim] - 1) * stride(dim);
  result.strides_[static_cast<size_t>(dim)] = -stride(dim);
  return result;
}

std::optional<Layout> Layout::reshape(const Shape& shape) const {
  if (shape.elements() != elements()) {
    fail(ErrorCode::shape_mismatch, "reshape: shape {} has {} elements, shape {} has {}", shape_.to_string(), elements(), shape.to_string(),
         shape.elements());
  }
  if (elements() == 0 || is_contiguous()) return Layout(shape, offset_);
  // Match runs of source dimensions that lie without gaps in memory against runs of target dimensions of the same product.
  std::array<int64_t, kMaxRank> strides{};
  int from = 0;
  int to = 0;
  while (from < rank() && to < shape.rank()) {
    int64_t source = shape_[from];
    int64_t target = shape[to];
    const int from_begin = from;
    const int to_begin = to;
    while (source != target) {
      if (source < target) {
        source *= shape_[++from];
      } else {
        target *= shape[++to];
      }
    }
    int64_t previous = -1;  // the innermost dimension of the run so far whose extent is not 1
    for (int dim = from; dim >= from_begin; --dim) {
      if (shape_[dim] == 1) continue;
      if (previous >= 0 && stride(dim) != times(stride(static_cast<int>(previous)), shape_[static_cast<int>(previous)])) {
        return std::nullopt;
      }
      previous = dim;
    }
    int64_t run_stride = 1;
    for (int dim = from; dim >= from_begin; --dim) {
      if (shape_[dim] != 1) {
        run_stride = stride(dim);
        break;
      }
    }
    for (int dim = to; dim >= to_begin; --dim) {
      strides[static_cast<size_t>(dim)] = run_stride;
      run_stride = times(run_stride, shape[dim]);
    }
    ++from;
    ++to;
  }
  for (; to < shape.rank(); ++to) strides[static_cast<size_t>(to)] = 1;  // trailing extents of 1
  return Layout(shape, std::span<const int64_t>(strides.data(), static_cast<size_t>(shape.rank())), offset_);
}

StridedBlocks strided_blocks(const Layout& layout) {
  if (layout.elements() == 0) return {Layout(Shape{}, layout.offset()), 0};
  int64_t length = 1;
  int outer = layout.rank();
  while (outer > 0 && (layout.shape()[outer - 1] == 1 || layout.stride(outer - 1) == length)) length *= layout.shape()[--outer];
  const auto kept = static_cast<size_t>(outer);
  return {Layout(Shape(layout.shape().dims().first(kept)), layout.strides().first(kept), layout.offset()), length};
}

}  // namespace wick
