#include "wick/kernels/row_ranges.h"

#include <fmt/format.h>

namespace wick::kernels {

using namespace ir;

RowRanges::RowRanges(ir::KernelBuilder& k, uint32_t per_group, const Value& team)
    : k_(k), per_group_(per_group), team_(team), group_(k.group_id(1) * k.group_count(0) + k.group_id(0)) {
  add();
}

void RowRanges::add() {
  const std::string suffix = ranges_.empty() ? "" : fmt::format("_{}", ranges_.size() + 1);
  const Value rows = k_.parameter("rows" + suffix, Type::u32), y_offset = k_.parameter("y_offset" + suffix, Type::u32);
  const Value first = ranges_.empty() ? k_.constant(0U) : ranges_.back().end_group;
  ranges_.push_back({rows, y_offset, first, first + (rows + (per_group_ - 1)) / per_group_});
}

void RowRanges::each(const std::function<void(uint32_t, const Value&)>& body) const {
  const auto run = [&](uint32_t i) { body(i, row_of(i)); };
  if (ranges_.size() == 1) return run(0);
  for (uint32_t i = 0; i < ranges_.size(); ++i) k_.when(is_here(ranges_[i]), [&] { run(i); });
}

Value RowRanges::has_row(uint32_t weight) const {
  const Range& range = ranges_[weight];
  const Value exists = row(range) < range.rows;
  return ranges_.size() == 1 ? exists : exists & is_here(range);
}

void RowRanges::store(uint32_t weight, const ir::Memory& y, const Value& gate, const Value& distance, const Value& value) const {
  const Range& range = ranges_[weight];
  y.store_if(gate & has_row(weight), range.y_offset + distance * range.rows + row(range), value);
}

}  // namespace wick::kernels
