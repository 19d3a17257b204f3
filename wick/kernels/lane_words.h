// The rows of a weight as words of two f16 that lanes unpack in registers, in an order of columns in which neither operand of a product has
// to be moved between lanes: four lanes share a row's chunk of columns, and the activations come in the same order (linear_lanes.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wick/ir/builder.h"
#include "wick/kernels/quantized_blocks.h"
#include "wick/kernels/weight_rows.h"
#include "wick/layout/dtype.h"

namespace wick::kernels {

// Which columns of a chunk a lane has. Its words come in quads of four, which hold eight neighbouring columns; of blocks the words of four
// columns are those of 0 and 2, then of 1 and 3, as masks take bytes out of a word.
class LaneColumns {
 public:
  static constexpr uint32_t kOrders = 5;
  // none for what lanes cannot unpack: formats without a reader, f32, elements in any layout.
  [[nodiscard]] static std::optional<LaneColumns> of(DType dtype, RowAccess access);

  [[nodiscard]] uint32_t chunk() const noexcept;  // columns of the four lanes
  [[nodiscard]] uint32_t quads() const noexcept { return chunk() / 32; }
  [[nodiscard]] bool interleaved() const noexcept { return order_ != Order::halves; }
  // The first column of a quad of lane t, 0 to 3.
  [[nodiscard]] ir::Value first(const ir::Value& t, const ir::Value& quad) const;
  // The same number, below kOrders, for equal orders.
  [[nodiscard]] uint32_t number() const noexcept { return static_cast<uint32_t>(order_); }

 private:
  friend class LaneWeight;
  enum class Order : uint8_t { halves, sixteens, q8_0, q4_k, q6_k };
  explicit LaneColumns(Order order) : order_(order) {}

  Order order_;
};

class LaneWeight {
 public:
  // Declares the buffers and parameters of WeightRows.
  LaneWeight(ir::KernelBuilder& k, DType dtype, RowAccess access, const std::string& name);
  // A further weight of the same dtype and layout.
  LaneWeight(ir::KernelBuilder& k, const LaneWeight& other, const std::string& name);

  [[nodiscard]] const LaneColumns& columns() const noexcept { return columns_; }
  // The words of u32 that lane t reads of a row's chunk.
  [[nodiscard]] std::vector<ir::Value> read(const ir::Value& row, const ir::Value& chunk, const ir::Value& t) const;
  // Its words of two f16, 4 · quads of them, from what was read. What f16 does not hold becomes its largest number or less; infinities and
  // NaNs make results that are none.
  [[nodiscard]] std::vector<ir::Value> unpack(const std::vector<ir::Value>& read, const ir::Value& t) const;

 private:
  [[nodiscard]] std::vector<ir::Value> read_blocks(const ir::Value& block, const ir::Value& t) const;
  [[nodiscard]] ir::Value first_block(const ir::Value& row) const;

  ir::KernelBuilder& k_;
  DType dtype_;
  LaneColumns columns_;
  std::optional<QuantizedBlocks> blocks_;
  std::optional<ir::Memory> plain_;
  ir::Value offset_, row_stride_;
  ir::Value one_;  // the column stride of rows that lanes can read
};

}  // namespace wick::kernels
