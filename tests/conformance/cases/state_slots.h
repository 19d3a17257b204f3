// The slots of the states of sequences, for the ops that change them.
#pragma once

#include <cstdint>
#include <vector>

#include "conformance/trial.h"
#include "wick/tensor/ops/state_slots.h"

namespace wick::conformance {

struct SlotNumbers {
  std::vector<int32_t> from, to;  // of 2 · sequences + 1 slots

  [[nodiscard]] StateSlots on(const Device& device) const {
    const Shape shape{std::ssize(to)};
    return {Tensor::from_vector(from, shape, device), Tensor::from_vector(to, shape, device)};
  }
};

// Neighbours begin with one state; the last sequence's stays in its place.
[[nodiscard]] inline SlotNumbers slot_numbers(int64_t sequences) {
  SlotNumbers slots;
  for (int64_t sequence = 0; sequence < sequences; ++sequence) {
    slots.to.push_back(static_cast<int32_t>(2 * sequences - sequence));
    slots.from.push_back(sequence + 1 == sequences ? slots.to.back() : static_cast<int32_t>(sequence / 2));
  }
  return slots;
}

}  // namespace wick::conformance
