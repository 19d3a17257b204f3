// Sampling: a token of each row of logits, as op/sample.h defines it.
#pragma once

#include "wick/ir/kernel.h"
#include "wick/op/device_caps.h"

namespace wick::kernels {

// Buffers logits f32 [rows, tokens], settings f32 [rows, 4], draws u32 [rows, 4], y i32 [rows]. Parameters: tokens; where in each buffer
// the first row begins. A group takes a row. Grid: rows.
[[nodiscard]] ir::Kernel sample(const DeviceCaps& caps);

}  // namespace wick::kernels
