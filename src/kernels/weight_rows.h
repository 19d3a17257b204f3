// The rows of a weight matrix as kernels multiply them: some neighbouring elements at a time.
#pragma once

#include <optional>
#include <vector>

#include "ir/builder.h"
#include "kernels/quantized_blocks.h"
#include "layout/dtype.h"

namespace wick::kernels {

// How a weight's elements can be read: one by one in any layout, or several at once where rows are dense and begin at whole vectors.
enum class RowAccess : uint8_t { blocks, vectors, elements };

// Neighbouring elements of a row: element i = scale · numbers[i] + offset, where those are there.
struct WeightUnit {
  std::vector<ir::Value> numbers;
  std::optional<ir::Value> scale, offset;

  [[nodiscard]] ir::Value element(uint32_t i) const;
};

class WeightRows {
 public:
  // Declares its buffers and parameters: those of QuantizedBlocks; or the buffer `name` and the parameters weight_offset, row_stride and
  // column_stride (of whole vectors the last is not used).
  WeightRows(ir::KernelBuilder& k, DType dtype, RowAccess access, const std::string& name = "w");
  // A second weight of the same dtype, shape and layout.
  WeightRows(ir::KernelBuilder& k, const WeightRows& other, const std::string& name);

  // How many elements read() gives: 16 of blocks, as many as are 16 bytes of vectors, or 1.
  [[nodiscard]] uint32_t unit() const noexcept { return unit_; }
  // Elements unit() · at and following of a row. Of blocks the parameter weight_offset counts sixteens from the tensor's first.
  [[nodiscard]] WeightUnit read(const ir::Value& row, const ir::Value& at, const ir::Value& columns) const;
  // The sixteen bytes and the scale themselves; of blocks only.
  [[nodiscard]] Sixteen read_bytes(const ir::Value& row, const ir::Value& at, const ir::Value& columns) const;

 private:
  DType dtype_;
  RowAccess access_;
  uint32_t unit_;
  std::optional<QuantizedBlocks> blocks_;
  std::optional<ir::Memory> plain_;
  ir::Value offset_, row_stride_, column_stride_;
};

}  // namespace wick::kernels
