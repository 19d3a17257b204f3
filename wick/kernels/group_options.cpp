#include "wick/kernels/group_options.h"

#include <algorithm>
#include <bit>

namespace wick::kernels {

ir::KernelOptions group_options(const DeviceCaps& caps, uint32_t wanted) {
  ir::KernelOptions options;
  options.group_size = std::bit_floor(std::min(wanted, caps.max_group_size));
  const auto largest = static_cast<uint32_t>(std::max(caps.max_subgroup_size, 1));
  if (largest > 1 && largest <= options.group_size) options.subgroup_size = largest;
  return options;
}

std::string subgroup_suffix(const ir::KernelOptions& options) {
  return options.subgroup_size > 0 ? "_s" + std::to_string(options.subgroup_size) : "";
}

}  // namespace wick::kernels
