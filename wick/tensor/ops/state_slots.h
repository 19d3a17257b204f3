// The states of sequences, in the rows of a tensor.
#pragma once

#include <cstdint>
#include <string_view>

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {

// The slots of the sequences' states, i32 [sequences]: those that are read, and those that are written.
struct StateSlots {
  Tensor from, to;
};

// Errors: shape_mismatch unless `states` are [slots, numbers] with contiguous rows, and `rows` are shared out equally to the sequences;
// dtype_mismatch for slots that are no i32. `extents` says what the numbers are.
void check_states(std::string_view op, const Tensor& states, const StateSlots& slots, int64_t rows, std::string_view extents,
                  int64_t numbers);

}  // namespace wick
