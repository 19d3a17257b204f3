#include "conformance/placement.h"

#include <algorithm>
#include <numeric>

namespace wick::conformance {
namespace {

Shape shape_from(const std::vector<int64_t>& dims) { return Shape(std::span<const int64_t>(dims)); }

Placement narrowed(const Shape& shape) {
  std::vector<int64_t> outer(shape.dims().begin(), shape.dims().end());
  if (outer.empty()) return {3, Layout(shape, 1)};
  for (int64_t& extent : outer) extent += 2;
  outer.back() += 1;
  Layout layout{shape_from(outer)};
  const int64_t elements = layout.elements();
  for (int dim = 0; dim < shape.rank(); ++dim) layout = layout.narrow(dim, dim == shape.rank() - 1 ? 2 : 1, shape[dim]);
  return {elements, layout};
}

Placement reordered(const Shape& shape, const std::vector<int>& order) {
  std::vector<int64_t> dims(order.size());
  for (size_t to = 0; to < order.size(); ++to) dims[static_cast<size_t>(order[to])] = shape[static_cast<int>(to)];
  const Layout layout{shape_from(dims)};
  return {layout.elements(), layout.permute(order)};
}

Placement broadcast(const Shape& shape, int dim) {
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims[static_cast<size_t>(dim)] = 1;
  const Layout layout{shape_from(dims)};
  return {layout.elements(), layout.broadcast_to(shape)};
}

// Every stride multiplied by `factor`, 2 or -1, from the first or the last element on.
Placement scaled(const Shape& shape, int64_t factor) {
  const Layout dense(shape);
  std::vector<int64_t> strides(dense.strides().begin(), dense.strides().end());
  for (int64_t& stride : strides) stride *= factor;
  const int64_t count = std::max<int64_t>(dense.elements(), 1);
  if (factor < 0) return {count, Layout(shape, strides, count - 1)};
  return {factor * count + 1, Layout(shape, strides, 1)};
}

}  // namespace

Placement place(const Shape& shape, View view) {
  std::vector<int> order(static_cast<size_t>(shape.rank()));
  std::iota(order.begin(), order.end(), 0);
  switch (view) {
    case View::contiguous: return {shape.elements(), Layout(shape)};
    case View::narrowed: return narrowed(shape);
    case View::transposed: std::swap(order[order.size() - 1], order[order.size() - 2]); return reordered(shape, order);
    case View::permuted: std::reverse(order.begin(), order.end()); return reordered(shape, order);
    case View::strided: return scaled(shape, 2);
    case View::flipped: return scaled(shape, -1);
    case View::broadcast: return broadcast(shape, 0);
    case View::broadcast_last: return broadcast(shape, shape.rank() - 1);
  }
  return {};
}

std::vector<View> target_views_of(const Shape& shape) {
  std::vector<View> views = {View::contiguous, View::narrowed};
  if (shape.rank() >= 2) views.push_back(View::transposed);
  if (shape.rank() >= 3) views.push_back(View::permuted);
  if (shape.rank() >= 1) views.insert(views.end(), {View::strided, View::flipped});
  return views;
}

std::vector<View> views_of(const Shape& shape) {
  std::vector<View> views = target_views_of(shape);
  if (shape.rank() >= 1) views.push_back(View::broadcast);
  if (shape.rank() >= 2) views.push_back(View::broadcast_last);
  return views;
}

}  // namespace wick::conformance
