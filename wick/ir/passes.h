// Passes: kernels in, kernels of the same meaning out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "wick/ir/kernel.h"
#include "wick/op/device_caps.h"

namespace wick::ir {

struct ScheduleOptions {
  bool move_out_of_loops = true;
};

// Gives every expression one place: a `let` in the outermost block where its operands live (loop-invariant motion), computed once there
// (common subexpressions); what nothing uses is gone. Nothing that may fault leaves the block that guards it, and what is not cheap stays
// under its `when`. Leaves, lanes and vectors are written where they are used. The interpreter and the printer take scheduled kernels.
[[nodiscard]] Kernel schedule(const Kernel& kernel, ScheduleOptions options = {});

// Computes what is known: expressions of constants, identities such as x + 0 of integers and x * 1, selects and gates of constants, loops
// that run no round. Functions that languages round differently (exp2, log2, sine) are left to the device.
[[nodiscard]] Kernel fold_constants(const Kernel& kernel);

// Writes a kernel in nodes that the device has: bf16, f16 arithmetic and 8- and 16-bit elements in words, products of bytes, subgroup
// operations through shared memory, matrix tiles element by element. f64 and i64 have no lowering: verify() refuses them.
[[nodiscard]] Kernel lower(const Kernel& kernel, const DeviceCaps& caps);

// verify, lower, fold_constants, verify, schedule: a kernel as a dialect prints it for this device.
[[nodiscard]] Kernel prepare(const Kernel& kernel, const DeviceCaps& caps);

// A prepared kernel for a device that binds less of a buffer at once: buffer i becomes parts[i] buffers, each of `part_bytes` bytes but
// the last; a multiple of 16. The first parts have the buffer's number; the others stand behind all buffers, in their order. None for a
// kernel that is no text of ours, that moves matrix tiles of a buffer of several parts, as a tile may lie in two, and where a part begins
// beyond the 2^32nd element.
[[nodiscard]] std::optional<Kernel> split_buffers(const Kernel& kernel, std::span<const uint32_t> parts, uint32_t part_bytes);

}  // namespace wick::ir
