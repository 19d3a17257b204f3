// Runs an op's reference loops on operands in host memory: every dtype, every layout.
#pragma once

#include "device/op.h"
#include "tensor/ops/op_rule.h"

namespace wick {

// The operand's elements as doubles, in row-major order.
[[nodiscard]] ReferenceTensor read_reference(const Operand& operand);
// Rounds the elements to the operand's dtype and stores them through its layout. Integers truncate and saturate; NaN becomes 0.
void write_reference(const ReferenceTensor& tensor, const Operand& operand);
// read, loop, write. The call's buffers must be in host memory.
void run_reference(const OpCall& call);

}  // namespace wick
