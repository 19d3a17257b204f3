// By masks: masked_fill, and what has as many elements as a mask is set in. Those numbers are known only when the device has computed the
// mask, so these functions wait for it, and refuse to run while a Graph is recorded, which could not know them when it is replayed.
#include <algorithm>
#include <limits>
#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/op_rule.h"

namespace wick {
namespace {

void refuse_recording(const Tensor& x, std::string_view name) {
  if (!x.device().runtime().is_recording()) return;
  fail(ErrorCode::unsupported,
       "{}: the shape of the result depends on the elements of {}, which a recorded graph cannot know; call it outside of Graph::record",
       name, x.describe());
}

// Where x is not 0, as row-major numbers of its elements, in ascending order.
std::vector<uint32_t> set_places(const Tensor& x, std::string_view name) {
  refuse_recording(x, name);
  check_dtype(OpId::compare, name, x);
  if (x.elements() > std::numeric_limits<uint32_t>::max()) {
    fail(ErrorCode::unsupported, "{}: {} has more elements than indices of u32 count", name, x.describe());
  }
  const std::vector<uint8_t> set = x.detach().ne(0).to_vector<uint8_t>();
  std::vector<uint32_t> places;
  for (size_t at = 0; at < set.size(); ++at) {
    if (set[at] != 0) places.push_back(static_cast<uint32_t>(at));
  }
  return places;
}

Tensor vector_of(const std::vector<uint32_t>& values, const Device& device) {
  return Tensor::from_vector(values, {static_cast<int64_t>(values.size())}, device);
}

// The first of each run of equal elements of a sorted vector, as numbers of elements.
std::vector<uint32_t> run_starts(const Tensor& sorted, std::string_view name) {
  const int64_t count = sorted.elements();
  if (count == 0) return {};
  std::vector<uint32_t> starts = set_places(sorted.narrow(0, 1, count - 1).ne(sorted.narrow(0, 0, count - 1)), name);
  for (uint32_t& start : starts) ++start;
  starts.insert(starts.begin(), 0);
  return starts;
}

}  // namespace

Tensor Tensor::masked_fill(const Tensor& mask, double value) const {
  check_assigned("masked_fill", {{"the tensor", *this}, {"mask", mask}});
  check_dtype(OpId::where_cond, "masked_fill", *this);
  check_dtype(OpId::compare, "masked_fill", mask);
  if (broadcast_shapes(shape(), mask.shape(), "masked_fill") != shape()) {
    fail(ErrorCode::shape_mismatch, "masked_fill: the mask {} does not broadcast to {}", mask.describe(), describe());
  }
  return mask.ne(0).where_cond(full({}, value, dtype(), device()), *this);
}

Tensor Tensor::nonzero() const {
  check_assigned("nonzero", *this);
  const std::vector<uint32_t> places = set_places(*this, "nonzero");
  std::vector<uint32_t> indices;
  indices.reserve(places.size() * static_cast<size_t>(rank()));
  for (const uint32_t place : places) {
    std::array<uint32_t, kMaxRank> index{};
    int64_t rest = place;
    for (int d = rank() - 1; d >= 0; --d) {
      index[static_cast<size_t>(d)] = static_cast<uint32_t>(rest % shape()[d]);
      rest /= shape()[d];
    }
    indices.insert(indices.end(), index.begin(), index.begin() + rank());
  }
  return from_vector(indices, {static_cast<int64_t>(places.size()), rank()}, device());
}

Tensor Tensor::masked_select(const Tensor& mask) const {
  check_assigned("masked_select", {{"the tensor", *this}, {"mask", mask}});
  const Shape common = broadcast_shapes(shape(), mask.shape(), "masked_select");
  const Tensor places = vector_of(set_places(mask.broadcast_to(common), "masked_select"), device());
  return broadcast_to(common).flatten_all().index_select(places, 0);
}

Tensor Tensor::boolean_mask(const Tensor& mask) const {
  check_assigned("boolean_mask", {{"the tensor", *this}, {"mask", mask}});
  const bool fits = mask.rank() >= 1 && mask.rank() <= rank() && std::equal(mask.dims().begin(), mask.dims().end(), dims().begin());
  if (!fits) {
    fail(ErrorCode::shape_mismatch, "boolean_mask: the mask {} does not have the first dimensions of {}", mask.describe(), describe());
  }
  const Tensor places = vector_of(set_places(mask, "boolean_mask"), device());
  return flatten(0, mask.rank() - 1).index_select(places, 0);
}

Tensor Tensor::unique() const {
  check_assigned("unique", *this);
  refuse_recording(*this, "unique");
  const Tensor sorted = detach().flatten_all().sort_last_dim(true).first;
  return sorted.index_select(vector_of(run_starts(sorted, "unique"), device()), 0);
}

std::pair<Tensor, Tensor> Tensor::unique_with_counts() const {
  check_assigned("unique_with_counts", *this);
  refuse_recording(*this, "unique");
  const Tensor sorted = detach().flatten_all().sort_last_dim(true).first;
  const std::vector<uint32_t> starts = run_starts(sorted, "unique");
  std::vector<uint32_t> counts;
  for (size_t i = 0; i < starts.size(); ++i) {
    const uint32_t end = i + 1 < starts.size() ? starts[i + 1] : static_cast<uint32_t>(sorted.elements());
    counts.push_back(end - starts[i]);
  }
  return {sorted.index_select(vector_of(starts, device()), 0), vector_of(counts, device())};
}

}  // namespace wick
