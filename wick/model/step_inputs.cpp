#include "wick/model/step_inputs.h"

#include <algorithm>

#include "wick/base/fail.h"

namespace wick {
namespace {

constexpr int32_t kNoSlot = -1;

}  // namespace

StepNumbers::StepNumbers(std::span<const int32_t> tokens, const KvPlan& plan)
    : shape_{std::ssize(tokens), plan.sequences, *std::max_element(plan.lengths.begin(), plan.lengths.end())} {
  add(tokens, shape_.rows, 0);
  positions_ = add(plan.positions, shape_.rows, 0);
  starts_ = add(plan.starts, shape_.sequences + 1, 0);
  lengths_ = add(plan.lengths, shape_.sequences, 0);
  add_groups(plan, 0);
}

StepNumbers::StepNumbers(std::span<const int32_t> tokens, const KvPlan& plan, const StepShape& shape, int64_t block_size) : shape_(shape) {
  const int64_t rows = std::ssize(tokens), further = shape.rows - rows;
  WICK_ASSERT(further >= 0 && shape.sequences >= plan.sequences + (further > 0 ? 1 : 0));
  add(tokens, shape.rows, 0);
  positions_ = add(plan.positions, shape.rows, 0);
  for (int64_t row = 0; row < further; ++row) values_[static_cast<size_t>(positions_ + rows + row)] = static_cast<int32_t>(row);
  starts_ = add(plan.starts, shape.sequences + 1, static_cast<int32_t>(shape.rows));
  lengths_ = add(plan.lengths, shape.sequences, 0);
  if (further > 0) values_[static_cast<size_t>(lengths_ + plan.sequences)] = static_cast<int32_t>(further);
  add_groups(plan, (shape.positions + block_size - 1) / block_size);
}

int64_t StepNumbers::add(std::span<const int32_t> numbers, int64_t room, int32_t filler) {
  const int64_t place = std::ssize(values_);
  values_.insert(values_.end(), numbers.begin(), numbers.end());
  values_.resize(static_cast<size_t>(place + room), filler);
  return place;
}

void StepNumbers::add_groups(const KvPlan& plan, int64_t table_blocks) {
  for (const KvPlan::Group& group : plan.groups) {
    const int64_t blocks = std::max(group.blocks, table_blocks), slots = add(group.slots, shape_.rows, kNoSlot);
    const int64_t table = std::ssize(values_);
    for (int64_t sequence = 0; sequence < shape_.sequences; ++sequence) {
      const auto row = std::span(group.table).subspan(static_cast<size_t>(std::min(sequence, plan.sequences) * group.blocks));
      add(row.first(static_cast<size_t>(sequence < plan.sequences ? group.blocks : 0)), blocks, 0);
    }
    groups_.push_back({slots, table, blocks});
  }
}

StepInputs StepNumbers::inputs(const Tensor& all) const {
  StepInputs inputs{.tokens = all.narrow(0, 0, shape_.rows),
                    .positions = all.narrow(0, positions_, shape_.rows),
                    .groups = {},
                    .longest = shape_.positions};
  const Tensor starts = all.narrow(0, starts_, shape_.sequences + 1), lengths = all.narrow(0, lengths_, shape_.sequences);
  for (const Group& group : groups_) {
    const Tensor table = all.narrow(0, group.table, shape_.sequences * group.blocks).reshape({shape_.sequences, group.blocks});
    inputs.groups.push_back({{inputs.positions, all.narrow(0, group.slots, shape_.rows)}, {starts, lengths, table}});
  }
  return inputs;
}

}  // namespace wick
