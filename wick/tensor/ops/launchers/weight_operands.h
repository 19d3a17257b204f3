// Activations and weights of a product as the kernels of linear and linear_experts take them.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "wick/kernels/weight_rows.h"
#include "wick/tensor/ops/launchers/launcher.h"

namespace wick::launchers {

using Operands = std::span<const Operand* const>;

// x as the kernels want it: dense rows of `columns`, of which the first element is at `offset`.
struct Activations {
  const Buffer* buffer;
  int64_t offset, rows, columns;
  std::unique_ptr<Buffer> aligned;  // a copy of them, where they began between vectors
};
[[nodiscard]] Activations activations_of(Runtime& runtime, const Operand& x);

// A gate among the numbers of a ProgramKey; 0: none.
[[nodiscard]] constexpr uint32_t gate_number(std::optional<GateKind> gate) noexcept { return gate ? static_cast<uint32_t>(*gate) + 1 : 0; }

// How the rows of a weight, its last dimension, can be read.
[[nodiscard]] kernels::RowAccess access_of(const Operand& weight);
// Buffers and parameters of kernels::WeightRows, and the buffers of further weights of the same layout.
[[nodiscard]] Arguments weight_arguments(Runtime& runtime, Operands weights);

}  // namespace wick::launchers
