// Tensors made from numbers alone.
#include <algorithm>
#include <cmath>
#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/tensor.h"

namespace wick {

Tensor Tensor::arange(double start, double end, double step, DType dtype, const Device& device) {
  if (step == 0 || !std::isfinite(start) || !std::isfinite(end) || !std::isfinite(step)) {
    fail(ErrorCode::invalid_argument, "arange: from {} to {} by {}: the step must not be 0, and all must be finite", start, end, step);
  }
  const double count = std::ceil((end - start) / step);
  if (count > 0x1p53)
    fail(ErrorCode::out_of_memory, "arange: {} elements from {} to {} by {}; at most 2^53 can be made", count, start, end, step);
  // Refused before memory is taken here: more than the device holds.
  constexpr double kSmall = 1 << 20;
  if (count > kSmall) (void)make_result("arange", {static_cast<int64_t>(count)}, DType::f64, device);
  std::vector<double> values(static_cast<size_t>(std::max(count, 0.0)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = start + static_cast<double>(i) * step;
  const auto made_of = [&]<class T>(T) {
    return from_vector(std::vector<T>(values.begin(), values.end()), {static_cast<int64_t>(values.size())}, device);
  };
  return on_behalf_of("arange", [&] {
    // Not every device can convert f64.
    const bool fits = std::abs(start) <= 0x1p53 && std::abs(end) <= 0x1p53;
    if (fits && dtype == DType::i64) return made_of(int64_t{});
    if (fits && dtype == DType::f32) return made_of(float{});
    return made_of(double{}).to_dtype(dtype);
  });
}

std::vector<Tensor> Tensor::meshgrid(std::span<const Tensor> tensors, bool xy_indexing) {
  if (tensors.empty()) fail(ErrorCode::invalid_argument, "meshgrid: no tensors given; at least one is needed");
  check_assigned("meshgrid", tensors);
  std::vector<int64_t> extents;
  for (const Tensor& tensor : tensors) {
    if (tensor.rank() != 1) fail(ErrorCode::shape_mismatch, "meshgrid: {} must be a vector", tensor.describe());
    extents.push_back(tensor.elements());
  }
  const auto dim_of = [&](size_t index) { return xy_indexing && index < 2 && tensors.size() > 1 ? 1 - index : index; };
  if (dim_of(0) != 0) std::swap(extents[0], extents[1]);
  const Shape shape{std::span<const int64_t>(extents)};
  std::vector<Tensor> grids;
  for (size_t index = 0; index < tensors.size(); ++index) {
    std::vector<int64_t> own(tensors.size(), 1);
    own[dim_of(index)] = tensors[index].elements();
    grids.push_back(tensors[index].reshape(Shape(std::span<const int64_t>(own))).broadcast_to(shape));
  }
  return grids;
}

}  // namespace wick
