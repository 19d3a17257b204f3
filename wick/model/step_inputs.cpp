#include "wick/model/step_inputs.h"

#include <algorithm>
#include <bit>

#include "wick/base/fail.h"

namespace wick {
namespace {

constexpr int32_t kNoSlot = -1;

// The bits of i32 numbers as f32 numbers.
Tensor floats_of(const Tensor& numbers) {
  const Storage& storage = *numbers.storage();
  return Tensor(std::make_shared<const Storage>(storage.device(), DType::f32, storage.shared_buffer()), numbers.layout());
}

}  // namespace

StepNumbers::StepNumbers(std::span<const int32_t> tokens, const KvPlan& plan, const AdapterNumbers& adapters)
    : shape_{std::ssize(tokens), plan.sequences, *std::max_element(plan.lengths.begin(), plan.lengths.end())} {
  add(tokens, shape_.rows, 0);
  positions_ = add(plan.positions, shape_.rows, 0);
  starts_ = add(plan.starts, shape_.sequences + 1, 0);
  lengths_ = add(plan.lengths, shape_.sequences, 0);
  add_groups(plan, 0);
  add_adapters(adapters);
  if (!plan.state_to.empty()) add_states(plan);
}

StepNumbers::StepNumbers(std::span<const int32_t> tokens, const KvPlan& plan, const AdapterNumbers& adapters, const StepShape& shape,
                         int64_t block_size)
    : shape_(shape), recorded_(true) {
  const int64_t rows = std::ssize(tokens), further = shape.rows - rows;
  WICK_ASSERT(further >= 0 && shape.sequences >= plan.sequences + (further > 0 ? 1 : 0));
  add(tokens, shape.rows, 0);
  positions_ = add(plan.positions, shape.rows, 0);
  for (int64_t row = 0; row < further; ++row) values_[static_cast<size_t>(positions_ + rows + row)] = static_cast<int32_t>(row);
  starts_ = add(plan.starts, shape.sequences + 1, static_cast<int32_t>(shape.rows));
  lengths_ = add(plan.lengths, shape.sequences, 0);
  if (further > 0) values_[static_cast<size_t>(lengths_ + plan.sequences)] = static_cast<int32_t>(further);
  add_groups(plan, (shape.positions + block_size - 1) / block_size);
  add_adapters(adapters);
  if (plan.state_to.empty()) return;
  WICK_ASSERT(further == 0 && shape.sequences == plan.sequences);
  add_states(plan);
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

void StepNumbers::add_adapters(const AdapterNumbers& adapters) {
  adapters_of_row_ = adapters.of_row;
  const int64_t room = shape_.rows * adapters.of_row;
  adapters_ = add(adapters.ids, room, 0);
  std::vector<int32_t> bits;
  for (const float scale : adapters.scales) bits.push_back(std::bit_cast<int32_t>(scale));
  scales_ = add(bits, room, 0);
}

void StepNumbers::add_states(const KvPlan& plan) {
  row_starts_ = plan.starts;
  state_to_ = plan.state_to;
  slabs_from_ = add(plan.state_from, plan.sequences, 0);
  slabs_to_ = add(plan.state_to, plan.sequences, 0);
  std::vector<int32_t> before, last;
  for (int64_t sequence = 0; sequence < plan.sequences; ++sequence) {
    const int32_t first = plan.starts[static_cast<size_t>(sequence)], end = plan.starts[static_cast<size_t>(sequence) + 1];
    const auto place = [&](int64_t row) { return static_cast<int32_t>(row < first ? sequence : plan.sequences + row); };
    for (int64_t row = first; row < end; ++row) before.push_back(place(row - 1));
    last.push_back(place(end - 1));
  }
  before_ = add(before, std::ssize(before), 0);
  last_ = add(last, std::ssize(last), 0);
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
  if (const int64_t of_row = adapters_of_row_; of_row > 0) {
    const int64_t count = shape_.rows * of_row;
    inputs.adapters = AdapterRows{all.narrow(0, adapters_, count).reshape({shape_.rows, of_row}),
                                  floats_of(all.narrow(0, scales_, count)).reshape({shape_.rows, of_row, 1})};
  }
  if (!state_to_.empty()) {
    inputs.states =
        StateInputs{.starts = row_starts_,
                    .state_to = state_to_,
                    .recorded = recorded_,
                    .slabs = {.from = all.narrow(0, slabs_from_, shape_.sequences), .to = all.narrow(0, slabs_to_, shape_.sequences)},
                    .before = all.narrow(0, before_, shape_.rows),
                    .last = all.narrow(0, last_, shape_.sequences)};
  }
  return inputs;
}

}  // namespace wick
