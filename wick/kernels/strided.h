// A grid of lanes, one for each element that strided operands have in common.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "wick/ir/builder.h"
#include "wick/op/device_caps.h"

namespace wick::kernels {

class StridedGrid {
 public:
  // The places of an operand's elements. Takes rank + 1 parameters: the offset and the strides, modulo 2^32.
  struct View {
    ir::Value offset;
    std::vector<ir::Value> strides;
  };
  // The place of this lane's element in a view.
  using Place = std::function<ir::Value(const View&)>;

  // Takes rank parameters: how many elements there are, and all extents but the first.
  StridedGrid(ir::KernelBuilder& k, uint32_t rank);
  // A grid of lanes, or groups, each of which has the number of its element.
  StridedGrid(ir::KernelBuilder& k, uint32_t rank, const ir::Value& element);

  [[nodiscard]] View view(std::string_view name);
  // The body for the lane's element, in lanes that have one.
  void run(const std::function<void(const Place&)>& body);
  // The number of the lane's element, in row-major order.
  [[nodiscard]] const ir::Value& element() const noexcept { return element_; }

 private:
  ir::KernelBuilder& k_;
  ir::Value count_, element_;
  std::vector<ir::Value> extents_;
};

// The number of this lane in the whole grid, whose groups may be spread over two dimensions.
[[nodiscard]] ir::Value global_lane(ir::KernelBuilder& k);
// The grid that covers `count` lanes on a device of these limits.
[[nodiscard]] ir::Grid groups_for(const ir::Kernel& kernel, uint64_t count, const DeviceCaps& caps);

}  // namespace wick::kernels
