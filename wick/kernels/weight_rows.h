// The rows of a weight matrix as kernels multiply them: some neighbouring elements at a time.
#pragma once

#include <optional>
#include <vector>

#include "wick/ir/builder.h"
#include "wick/kernels/quantized_blocks.h"
#include "wick/layout/dtype.h"

namespace wick::kernels {

// How a weight's elements can be read: one by one in any layout, or several at once where rows are dense and begin at whole vectors.
enum class RowAccess : uint8_t { blocks, vectors, elements };

// Neighbouring elements of a row: element i = scale · numbers[i] + offset, where those are there.
struct WeightUnit {
  std::vector<ir::Value> numbers;
  std::optional<ir::Value> scale, offset;

  [[nodiscard]] ir::Value element(uint32_t i) const;
};

// Reads units of a buffer of numbers.
class UnitReader {
 public:
  // Declares its buffers, and the parameter of QuantizedBlocks if there is one.
  UnitReader(ir::KernelBuilder& k, DType dtype, RowAccess access, const std::string& name);
  // A second buffer of the same dtype.
  UnitReader(ir::KernelBuilder& k, const UnitReader& other, const std::string& name);

  // How many elements read() gives: 16 of blocks, as many as are 16 bytes of vectors, or 1.
  [[nodiscard]] uint32_t unit() const noexcept { return unit_; }
  // The unit that begins at element `place`, a multiple of unit(); of blocks at sixteen number `place`.
  [[nodiscard]] WeightUnit read(const ir::Value& place) const;
  // Element `column` of the row that begins at `place`.
  [[nodiscard]] ir::Value read_one(const ir::Value& place, const ir::Value& column) const;
  // The buffer of a vector of 16-bit floats, as words of two elements.
  [[nodiscard]] const ir::Memory& words() const { return *plain_; }
  // How far the next unit is, in what `place` counts.
  [[nodiscard]] uint32_t step() const noexcept { return access_ == RowAccess::blocks ? 1 : unit_; }

 private:
  DType dtype_;
  RowAccess access_;
  uint32_t unit_;
  std::optional<QuantizedBlocks> blocks_;
  std::optional<ir::Memory> plain_;
};

class WeightRows {
 public:
  // Declares what UnitReader does, and the parameters weight_offset, row_stride and column_stride, which count elements, of blocks
  // sixteens; the last is used where elements are read one by one.
  WeightRows(ir::KernelBuilder& k, DType dtype, RowAccess access, const std::string& name = "w");
  // A second weight of the same dtype, shape and layout.
  WeightRows(ir::KernelBuilder& k, const WeightRows& other, const std::string& name);

  [[nodiscard]] uint32_t unit() const noexcept { return reader_.unit(); }
  // Elements unit() · at and following of a row.
  [[nodiscard]] WeightUnit read(const ir::Value& row, const ir::Value& at) const;
  // As UnitReader has it, and where in it, in elements, the rows are.
  [[nodiscard]] const ir::Memory& words() const { return reader_.words(); }
  [[nodiscard]] const ir::Value& offset() const noexcept { return offset_; }
  [[nodiscard]] const ir::Value& row_stride() const noexcept { return row_stride_; }

 private:
  UnitReader reader_;
  ir::Value offset_, row_stride_, column_stride_;
};

}  // namespace wick::kernels
