// The rows of one to three weights, shared out over one grid: each group takes some rows of one of them.
#pragma once

#include <functional>
#include <vector>

#include "wick/ir/builder.h"

namespace wick::kernels {

class RowRanges {
 public:
  // The first weight: takes parameters rows and y_offset. A group takes `per_group` rows, of which this lane works on number `team`.
  RowRanges(ir::KernelBuilder& k, uint32_t per_group, const ir::Value& team);
  // One more weight: takes parameters rows_2 and y_offset_2, or rows_3 and y_offset_3.
  void add();

  // Calls the body once for each weight, in the groups that work on it, with the row of this lane. Lanes of rows beyond the last do the
  // last one's work: every lane reaches what follows.
  void each(const std::function<void(uint32_t weight, const ir::Value& row)>& body) const;
  // The row of this lane where it is one of that weight, else some row of it.
  [[nodiscard]] ir::Value row_of(uint32_t weight) const { return min(row(ranges_[weight]), ranges_[weight].rows - 1U); }
  [[nodiscard]] const ir::Value& rows(uint32_t weight) const { return ranges_[weight].rows; }
  // Whether it is one of that weight.
  [[nodiscard]] ir::Value has_row(uint32_t weight) const;
  // y[y_offset + row + distance · rows] = value, where the lane's row is one of that weight and the gate is true.
  void store(uint32_t weight, const ir::Memory& y, const ir::Value& gate, const ir::Value& distance, const ir::Value& value) const;

 private:
  struct Range {
    ir::Value rows, y_offset, first_group, end_group;
  };
  [[nodiscard]] ir::Value row(const Range& range) const { return (group_ - range.first_group) * per_group_ + team_; }
  [[nodiscard]] ir::Value is_here(const Range& range) const { return (group_ >= range.first_group) & (group_ < range.end_group); }

  ir::KernelBuilder& k_;
  uint32_t per_group_;
  ir::Value team_, group_;
  std::vector<Range> ranges_;
};

}  // namespace wick::kernels
