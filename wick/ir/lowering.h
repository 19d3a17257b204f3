// The lowerings that lower() is made of; each leaves what the device has.
#pragma once

#include "wick/ir/builder.h"
#include "wick/op/device_caps.h"

namespace wick::ir {

// Matrix tiles as variables of the lanes: element e of a tile belongs to lane e % subgroup_size. Left and right are not loaded: a product
// reads their elements where they lie, which is refused if something may have been written there in between. What lanes set lies in shared
// memory.
[[nodiscard]] Kernel lower_tiles(const Kernel& kernel, const DeviceCaps& caps);
// fma_halves as operations of f32, where the device has no tiles that lanes set, for which it is there.
[[nodiscard]] Kernel lower_packed_halves(const Kernel& kernel, const DeviceCaps& caps);
// Subgroup operations as exchanges through shared memory between two barriers.
[[nodiscard]] Kernel lower_subgroups(const Kernel& kernel, const DeviceCaps& caps);
// dot4 as products of sign-extended bytes.
[[nodiscard]] Kernel lower_dot4(const Kernel& kernel, const DeviceCaps& caps);
// bf16 elements as u16, f16 elements as u16 and f16 arithmetic as f32 rounded after every operation, which gives the same bits (24 >= 2 *
// 11
// + 2: Figueroa 1995); a fused multiply-add may round twice.
[[nodiscard]] Kernel lower_halves(const Kernel& kernel, const DeviceCaps& caps);
// 8- and 16-bit elements as parts of u32 words. The lanes that share a word write it by two atomics, which clear and set their own bits;
// what a kernel writes, it also reads by atomics. Buffers are then whole words long.
[[nodiscard]] Kernel lower_narrow_elements(const Kernel& kernel, const DeviceCaps& caps);

// The bits of the binary16 nearest to an f32, ties to even, overflow to infinity; by integer arithmetic, so that every device agrees.
[[nodiscard]] Value pack_half(const Value& value);
// The same for bfloat16.
[[nodiscard]] Value pack_bf16(const Value& value);

}  // namespace wick::ir
