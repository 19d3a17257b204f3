#include "wick/tensor/ops/state_slots.h"

#include "wick/base/fail.h"

namespace wick {

void check_states(std::string_view op, const Tensor& states, const StateSlots& slots, int64_t rows, std::string_view extents,
                  int64_t numbers) {
  const bool has_rows = states.rank() == 2 && states.dim(1) == numbers && (numbers <= 1 || states.layout().stride(1) == 1);
  const int64_t sequences = slots.from.rank() == 1 ? slots.from.dim(0) : 0;
  const bool shared_out = sequences == 0 ? rows == 0 : rows % sequences == 0;
  if (!has_rows || slots.from.rank() != 1 || slots.to.shape() != slots.from.shape() || !shared_out) {
    fail(
        ErrorCode::shape_mismatch,
        "{}: states {}, from {}, to {}: want [slots, {}] = [slots, {}] with contiguous rows, and a slot of each sequence, to which equally "
        "many of the {} rows belong",
        op, states.describe(), slots.from.describe(), slots.to.describe(), extents, numbers, rows);
  }
  if (slots.from.dtype() != DType::i32 || slots.to.dtype() != DType::i32) {
    fail(ErrorCode::dtype_mismatch, "{}: from {} and to {} must be i32", op, slots.from.describe(), slots.to.describe());
  }
}

}  // namespace wick
