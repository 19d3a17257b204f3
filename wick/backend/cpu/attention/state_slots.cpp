#include "wick/backend/cpu/attention/state_slots.h"

#include <cstdint>

#include "wick/backend/cpu/cpu_runtime.h"
#include "wick/base/fail.h"

namespace wick::cpu {

void check_slots(const OpCall& call, const Operand& from, const Operand& to, const Operand& states) {
  const int64_t slots = states.layout->shape()[0], sequences = from.layout->shape()[0];
  for (int64_t sequence = 0; sequence < sequences; ++sequence) {
    for (const Operand* operand : {&from, &to}) {
      const int64_t slot = data_of<const int32_t>(*operand)[sequence];
      if (slot >= 0 && slot < slots) continue;
      fail(ErrorCode::invalid_argument, "{}: sequence {} names slot {}; allowed: 0 to {}", to_string(call.op), sequence, slot, slots - 1);
    }
  }
}

}  // namespace wick::cpu
