#include "wick/kernels/strided.h"

#include <fmt/format.h>

#include <algorithm>

#include "wick/base/fail.h"

namespace wick::kernels {

using namespace ir;

StridedGrid::StridedGrid(ir::KernelBuilder& k, uint32_t rank) : StridedGrid(k, rank, global_lane(k)) {}

StridedGrid::StridedGrid(ir::KernelBuilder& k, uint32_t rank, const Value& element)
    : k_(k), count_(k.parameter("count", Type::u32)), element_(element) {
  for (uint32_t d = 1; d < rank; ++d) extents_.push_back(k.parameter(fmt::format("extent_{}", d), Type::u32));
}

StridedGrid::View StridedGrid::view(std::string_view name) {
  View view{k_.parameter(fmt::format("{}_offset", name), Type::u32), {}};
  for (std::size_t d = 0; d <= extents_.size(); ++d) view.strides.push_back(k_.parameter(fmt::format("{}_stride_{}", name, d), Type::u32));
  return view;
}

void StridedGrid::run(const std::function<void(const Place&)>& body) {
  k_.when(element_ < count_, [&] {
    std::vector<Value> coordinates(extents_.size() + 1);
    Value rest = element_;
    for (std::size_t d = extents_.size(); d > 0; --d) {
      coordinates[d] = rest % extents_[d - 1];
      rest = rest / extents_[d - 1];
    }
    coordinates[0] = rest;
    body([&](const View& view) {
      Value place = view.offset;
      for (std::size_t d = 0; d < coordinates.size(); ++d) place = place + coordinates[d] * view.strides[d];
      return place;
    });
  });
}

Value global_lane(ir::KernelBuilder& k) {
  return (k.group_id(1) * k.group_count(0) + k.group_id(0)) * k.kernel().group_size + k.local_id();
}

ir::Grid groups_for(const ir::Kernel& kernel, uint64_t count, const DeviceCaps& caps) {
  const uint64_t groups = std::max<uint64_t>(1, (count + kernel.group_size - 1) / kernel.group_size);
  const uint64_t x = std::min<uint64_t>(groups, caps.max_group_count[0]);
  const uint64_t y = (groups + x - 1) / x;
  if (y > caps.max_group_count[1])
    fail(ErrorCode::unsupported, "kernel {}: {} elements are more than one launch covers", kernel.name, count);
  return {static_cast<uint32_t>(x), static_cast<uint32_t>(y), 1};
}

}  // namespace wick::kernels
