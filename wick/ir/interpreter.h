// The interpreter runs a kernel on the host: the living definition of what the nodes and statements mean. It is truth, not speed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wick/ir/kernel.h"

namespace wick::ir {

// One launch: a span of bytes for each buffer, the bits of each parameter.
struct LaunchArguments {
  std::vector<std::span<std::byte>> buffers;
  std::vector<uint32_t> parameters;
  bool keeps_subnormals = true;  // DeviceCaps::f32_subnormals
};

// Runs every group of the grid, one after the other, each node for all lanes of its group at once. Fails, naming kernel, element, lane and
// group, where an index leaves its buffer or is not a multiple of its vector's lanes, shared memory is read before it is written, two
// accesses race, a barrier or subgroup operation is not reached by all lanes, an integer operation has no result, or a loop's index wraps.
void interpret(const Kernel& kernel, Grid grid, const LaunchArguments& arguments);

}  // namespace wick::ir
