// recurrent_step: positions of linear attention, whose states change and are read in one pass.
#pragma once

#include "wick/tensor/ops/state_slots.h"
#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {

// The rows of each position for the states of its sequence's heads: query and key [rows, key_heads, k], value [rows, heads, v], decay
// [rows, heads, 1 or k], rate [rows, heads]; all f32. Each sequence has equally many rows, in their order, after those of the sequence
// before.
struct RecurrentRows {
  Tensor query, key, value, decay, rate;
};

// A head's state S [k, v] decays, takes the position in and is read (Dao & Gu 2024; delta: Yang, Kautz & Hatamizadeh 2025):
//   S = decay · S;  S = S + key ⊗ rate · value, delta: S + key ⊗ rate · (value - Sᵀ · key);  result = Sᵀ · query
// for one position of its sequence after the other, each in the same way, however many there are.
// states: f32 [slots, heads · k · v] with contiguous rows, such as a range of the columns of a larger tensor; row `from` is read and row
// `to` written, which no other sequence has. Head h has key head h / (heads / key_heads), interleaved: h % key_heads. Result: f32
// [rows, heads, v]. Errors: shape_mismatch, dtype_mismatch; unsupported for a tracked operand, as it has no gradient, and on a device with
// kernels for k above 512; where the device's memory is the host's, invalid_argument for a slot that is not there.
[[nodiscard]] Tensor recurrent_step(const RecurrentRows& rows, const StateSlots& slots, const Tensor& states, RecurrentStepParams params);

}  // namespace wick
