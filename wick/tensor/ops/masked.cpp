// By masks: masked_fill, and what has as many elements as a mask is set in. Those numbers are known only when the device has computed the
// mask, so these functions wait for it, and refuse to run while a Graph is recorded, which could not know them when it is replayed.
#include <algorithm>
#include <limits>
#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/dtype_of.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/host_elements.h"
#include "wick/tensor/ops/masked.h"
#include "wick/tensor/ops/op_rule.h"
#include "wick/tensor/ops/selection.h"

namespace wick {
namespace {

void refuse_recording(const Tensor& x, std::string_view name) {
  if (!x.device().runtime().is_recording()) return;
  fail(ErrorCode::unsupported,
       "{}: the shape of the result depends on the elements of {}, which a recorded graph cannot know; call it outside of Graph::record",
       name, x.describe());
}

// A byte for each element in row-major order, which is 0 where the element is: the CPU's own memory where it holds bytes, else a copy.
class MaskBytes {
 public:
  MaskBytes(const Tensor& x, std::string_view name) {
    refuse_recording(x, name);
    check_dtype(OpId::compare, name, x);
    if (x.elements() > std::numeric_limits<uint32_t>::max()) {
      fail(ErrorCode::unsupported, "{}: {} has more elements than indices of u32 count", name, x.describe());
    }
    kept_ = x.dtype() == DType::u8 ? x.detach() : x.detach().ne(0);
    if (const std::byte* const host = host_elements(kept_)) {
      bytes_ = {reinterpret_cast<const uint8_t*>(host), static_cast<size_t>(x.elements())};
    } else {
      copy_ = kept_.to_vector<uint8_t>();
      bytes_ = copy_;
    }
  }
  MaskBytes(const MaskBytes&) = delete;
  MaskBytes& operator=(const MaskBytes&) = delete;
  ~MaskBytes() = default;

  [[nodiscard]] std::span<const uint8_t> bytes() const noexcept { return bytes_; }

 private:
  Tensor kept_;
  std::vector<uint8_t> copy_;
  std::span<const uint8_t> bytes_;
};

// A tensor whose elements write(T*) writes on the host.
template <class T, class Write>
Tensor written(std::string_view name, const Shape& shape, const Device& device, const Write& write) {
  Tensor made = make_result(name, shape, DTypeOf<T>::value, device);
  if (made.elements() == 0) return made;
  if (std::byte* const host = host_elements(made)) {
    write(reinterpret_cast<T*>(host));
    return made;
  }
  std::vector<T> values(static_cast<size_t>(shape.elements()));
  write(values.data());
  return Tensor::from_vector(values, shape, device);
}

// Where the mask is set, as row-major numbers of its elements, in ascending order.
Tensor set_places(const Tensor& mask, std::string_view name, const Device& device) {
  const MaskBytes set(mask, name);
  return written<uint32_t>(name, {count_set(set.bytes())}, device, [&](uint32_t* places) { write_set_places(set.bytes(), places); });
}

// The elements of `x` where the mask is set, both on the CPU and without gaps.
Tensor chosen_on_host(const Tensor& x, const Tensor& mask, std::string_view name) {
  const MaskBytes set(mask, name);
  const Tensor made = make_result(name, {count_set(set.bytes())}, x.dtype(), x.device());
  write_chosen(set.bytes(), host_elements(x), info(x.dtype()).block_bytes, host_elements(made));
  return made;
}

bool can_choose_on_host(const Tensor& x, const Tensor& mask) {
  return !x.is_tracked() && x.shape() == mask.shape() && x.elements() > 0 && !is_quantized(x.dtype()) && mask.device().is_cpu() &&
         host_elements(x) != nullptr;
}

Tensor vector_of(const std::vector<uint32_t>& values, const Device& device) {
  return Tensor::from_vector(values, {static_cast<int64_t>(values.size())}, device);
}

// The first of each run of equal elements of a sorted vector, as numbers of elements.
std::vector<uint32_t> run_starts(const Tensor& sorted, std::string_view name) {
  const int64_t count = sorted.elements();
  if (count == 0) return {};
  const Tensor changes = sorted.narrow(0, 1, count - 1).ne(sorted.narrow(0, 0, count - 1));
  std::vector<uint32_t> starts = set_places(changes, name, Device::cpu()).to_vector<uint32_t>();
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

Tensor nonzero(const Tensor& x, DType index) {
  check_assigned("nonzero", x);
  const MaskBytes set(x, "nonzero");
  const Shape shape{count_set(set.bytes()), x.rank()};
  const auto indices = [&]<class Index>(Index) {
    return written<Index>("nonzero", shape, x.device(), [&](Index* to) { write_set_indices(set.bytes(), x.shape(), to); });
  };
  return index == DType::u32 ? indices(uint32_t{}) : indices(int64_t{}).to_dtype(index);
}

Tensor Tensor::nonzero() const { return wick::nonzero(*this, DType::u32); }

Tensor Tensor::masked_select(const Tensor& mask) const {
  check_assigned("masked_select", {{"the tensor", *this}, {"mask", mask}});
  if (can_choose_on_host(*this, mask)) return chosen_on_host(*this, mask, "masked_select");
  const Shape common = broadcast_shapes(shape(), mask.shape(), "masked_select");
  const Tensor places = set_places(mask.broadcast_to(common), "masked_select", device());
  return broadcast_to(common).flatten_all().index_select(places, 0);
}

Tensor Tensor::boolean_mask(const Tensor& mask) const {
  check_assigned("boolean_mask", {{"the tensor", *this}, {"mask", mask}});
  const bool fits = mask.rank() >= 1 && mask.rank() <= rank() && std::equal(mask.dims().begin(), mask.dims().end(), dims().begin());
  if (!fits) {
    fail(ErrorCode::shape_mismatch, "boolean_mask: the mask {} does not have the first dimensions of {}", mask.describe(), describe());
  }
  if (can_choose_on_host(*this, mask)) return chosen_on_host(*this, mask, "boolean_mask");
  return flatten(0, mask.rank() - 1).index_select(set_places(mask, "boolean_mask", device()), 0);
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
