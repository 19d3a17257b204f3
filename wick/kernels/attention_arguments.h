// The parameters that every kernel of attention has, in their order.
#pragma once

#include <cstdint>
#include <string_view>

#include "wick/ir/builder.h"

namespace wick::kernels {

// Keys, or values: where a position's numbers are.
struct CacheView {
  ir::Value offset, head_stride, position_stride;

  CacheView(ir::KernelBuilder& k, std::string_view name);
  [[nodiscard]] ir::Value place(const ir::Value& head, const ir::Value& position) const {
    return offset + head * head_stride + position * position_stride;
  }
};

// kernels::attention says what each is.
struct AttentionArguments {
  ir::Value width, q_offset;
  CacheView keys, values;
  ir::Value group, heads, past, rows, split_length, scale, out_offset;

  explicit AttentionArguments(ir::KernelBuilder& k);
  // Of token and head in [tokens, heads].
  [[nodiscard]] ir::Value output_row(const ir::Value& row, const ir::Value& kv_head) const {
    return row / group * heads + kv_head * group + row % group;
  }
  // The row of a group of lanes in what it writes: with splits, each split has one of its own.
  [[nodiscard]] ir::Value written_row(ir::KernelBuilder& k, bool splits, const ir::Value& row, const ir::Value& kv_head) const;

  // The positions of a group of lanes with so many rows: those of its split that the last row sees. Those of earlier rows end before.
  struct Positions {
    ir::Value begin, end;
  };
  [[nodiscard]] Positions positions(ir::KernelBuilder& k, const ir::Value& first_row, uint32_t row_count) const;
};

}  // namespace wick::kernels
