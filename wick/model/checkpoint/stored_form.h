// The forms in which folders store tensors (StoredForm): which are alike, and where elements are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wick/formats/safetensors.h"
#include "wick/layout/shape.h"
#include "wick/model/architectures/architecture.h"
#include "wick/model/checkpoint/stored_view.h"

namespace wick {

// Stored matrices [groups][rows][columns], the groups being those of a stack.
struct Stack {
  int64_t groups = 1, rows = 1, columns = 1;

  explicit Stack(const Shape& shape) {
    columns = shape.last();
    if (shape.rank() > 1) rows = shape[shape.rank() - 2];
    if (shape.rank() > 2) groups = shape[0];
  }
};

[[nodiscard]] bool is_transposed(StoredForm form) noexcept;
[[nodiscard]] bool is_mxfp4(StoredForm form) noexcept;
// A vector or a kernel, whose shape alone is another one.
[[nodiscard]] bool is_reshaped(StoredForm form) noexcept;
[[nodiscard]] bool holds_two(StoredForm form) noexcept;

// One of the tensors that a stored one of this form holds, `part` being 0 or 1.
[[nodiscard]] StoredView view_of(const SafetensorsTensor& tensor, StoredForm form, int64_t part);
// The shape of one of the tensors that a stored one holds.
[[nodiscard]] Shape shape_of(const Shape& stored, StoredForm form);

// Stored blocks of 32 four-bit floats with their scales, as GGUF's MXFP4 has them: every `step`-th row, from `first` on.
struct Mxfp4View {
  SafetensorsTensor blocks, scales;
  int64_t first = 0, step = 1;

  [[nodiscard]] int64_t blocks_a_row() const { return blocks.shape[2]; }

  void write(std::span<std::byte> to) const;
};

}  // namespace wick
