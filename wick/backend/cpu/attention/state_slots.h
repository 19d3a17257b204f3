// The slots of the states of sequences.
#pragma once

#include "wick/device/op_call.h"

namespace wick::cpu {

// Before anything is written: whether `states` has the slots that both operands name. Errors: invalid_argument.
void check_slots(const OpCall& call, const Operand& from, const Operand& to, const Operand& states);

}  // namespace wick::cpu
