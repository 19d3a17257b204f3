// The rows that a kernel takes an operand as, and how lanes walk them.
#pragma once

#include <functional>

#include "wick/ir/builder.h"
#include "wick/kernels/group_reduce.h"
#include "wick/op/device_caps.h"

namespace wick::kernels {

// The lanes that process a row: one if rows are short or not contiguous, a group, or the widest possible group if rows are long and
// few.
enum class RowLanes : uint8_t { one, group, widest };
[[nodiscard]] ir::KernelOptions row_options(RowLanes lanes, const DeviceCaps& caps);
// "_l" or the suffix of subgroups: what the name of such a kernel ends in.
[[nodiscard]] std::string row_suffix(RowLanes lanes, const ir::KernelOptions& options);

class RowWalk {
 public:
  // Takes parameters rows, columns, offset, extent, outer_stride, inner_stride, step, parts, part: row r begins at offset + r / extent ·
  // outer_stride + r % extent · inner_stride, and its elements are `step` apart. Each row is cut into `parts` parts of `part` columns, the
  // last one shorter.
  RowWalk(ir::KernelBuilder& k, RowLanes lanes);

  // The body for a part, in uniform control flow of its group if that takes it.
  void run(const std::function<void()>& body);
  // Inside the body: the number of the part, of rows · parts; the place of a column; how many columns there are in a row.
  [[nodiscard]] const ir::Value& number() const noexcept { return number_; }
  [[nodiscard]] ir::Value place(const ir::Value& column) const { return first_ + column * step_; }
  [[nodiscard]] const ir::Value& columns() const noexcept { return columns_; }
  // Calls f with each column of the part that this lane takes.
  void each(const std::function<void(const ir::Value& column)>& f) const;
  // Combines the values of all lanes.
  [[nodiscard]] ir::Value together(GroupReduce& group, ir::Reduce op, const ir::Value& value) const;
  // Σ f(column), or the least or greatest.
  [[nodiscard]] ir::Value reduce(GroupReduce& group, ir::Reduce op, const ir::Value& initial,
                                 const std::function<ir::Value(const ir::Value& column)>& f) const;
  // Stores happen in one lane of the part.
  void once(const std::function<void()>& body) const;

 private:
  ir::KernelBuilder& k_;
  RowLanes lanes_;
  ir::Value rows_, columns_, offset_, extent_, outer_stride_, inner_stride_, step_, parts_, part_;
  ir::Value number_, first_, begin_, end_;
};

}  // namespace wick::kernels
