// Elements chosen by checked ids: what index_select, gather and sort share.
#pragma once

#include "wick/device/op_call.h"
#include "wick/device/runtime.h"

namespace wick::launchers {

// result[…, i, …] = x[…, ids[…, i, …], …] along `dim`, 0 for kernels::kNoId. ids are u32, of the result's shape, in any layout; `kept`, of
// that shape too, becomes the ids.
void take(Runtime& runtime, const Operand& x, int dim, const Operand& ids, const Operand& result, const Operand* kept = nullptr);

}  // namespace wick::launchers
