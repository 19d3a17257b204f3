// Elements read and written where ids say.
#pragma once

#include "wick/ir/kernel.h"
#include "wick/layout/dtype.h"
#include "wick/op/device_caps.h"

namespace wick::kernels {

// The value that check_ids gives an id that means "none" (IndexParams in op/op.h).
inline constexpr uint32_t kNoId = 0xffffffffU;

// Buffers fault (one u32), ids (i64: as words), y (u32). Parameters of a StridedGrid with views "ids" and "y"; extent. y = the id, or kNoId
// for one that means "nothing"; fault becomes 1 where one is neither in [0, extent) nor that.
[[nodiscard]] ir::Kernel check_ids(DType dtype, uint32_t rank, const DeviceCaps& caps);

// Buffers x, ids (u32), y; x and y of elements of 1, 2, 4 or 8 bytes. Parameters of a StridedGrid with views "x", "ids" and "y"; x_step.
// y = the element of x that is id · x_step behind its view's place, 0 for kNoId. With keeps_ids also a buffer kept (u32), with a view: the
// id.
[[nodiscard]] ir::Kernel take(uint32_t element_bytes, bool keeps_ids, uint32_t rank, const DeviceCaps& caps);

// The result for an element that is written more than once.
enum class Repeated { last, sum };
// Buffers order, y, source, keys: each line of `length` keys is a line of ids in rising order, and order says where each of them was, equal
// ones in rising order. Parameters of a StridedGrid with views "y", "source" and "keys" over the shape of source; length; steps: as many as
// length has bits; source_step, y_step: along the dimension of the ids, where the views of source and y stand still. The lane of the first
// key of each kind writes y[id · y_step] for all of them: the last source, or the sum of y's element and all sources, in order, in f32 (f64
// for f64).
[[nodiscard]] ir::Kernel put(DType dtype, Repeated repeated, uint32_t rank, const DeviceCaps& caps);

}  // namespace wick::kernels
