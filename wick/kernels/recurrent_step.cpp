#include "wick/kernels/recurrent_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "wick/kernels/group_options.h"
#include "wick/kernels/numbers.h"

namespace wick::kernels {

using namespace ir;

namespace {

constexpr uint32_t kStateColumns = 32;
// Rows of a state that a lane has under way at once.
constexpr uint32_t kRowsAtOnce = 4;

ir::KernelOptions step_options(const DeviceCaps& caps) { return {.group_size = group_options(caps, 256).group_size}; }

// The lanes of a group: each has a column of a state, and of its rows one of every `parts`.
class StateLanes {
 public:
  StateLanes(KernelBuilder& k, uint32_t columns)
      : k_(k),
        columns_(columns),
        parts_(k.kernel().group_size / columns),
        column_(k.local_id() % columns),
        part_(k.local_id() / columns),
        sums_(k.shared(Element::f32, k.kernel().group_size)) {}

  [[nodiscard]] const Value& column() const { return column_; }
  [[nodiscard]] const Value& part() const { return part_; }

  // body(rows, exists) for the lane's rows, kRowsAtOnce of them at a time.
  using Rows = std::array<Value, kRowsAtOnce>;
  void each_rows(const Value& count, const std::function<void(const Rows& rows, const Rows& exists)>& body) const {
    k_.loop(0, count, kRowsAtOnce * parts_, [&](const Value& first) {
      Rows rows, exists;
      for (uint32_t i = 0; i < kRowsAtOnce; ++i) {
        rows[i] = first + part_ + i * parts_;
        exists[i] = rows[i] < count;
      }
      body(rows, exists);
    });
  }

  // The sum of the column's numbers, in each of its lanes. Stands in uniform control flow.
  [[nodiscard]] Value sum(const Value& number) const {
    k_.barrier();
    sums_[k_.local_id()] = number;
    k_.barrier();
    Value sum = sums_[column_];
    for (uint32_t part = 1; part < parts_; ++part) sum = sum + sums_[column_ + part * columns_];
    return sum;
  }

 private:
  KernelBuilder& k_;
  uint32_t columns_, parts_;
  Value column_, part_;
  Memory sums_;
};

}  // namespace

uint32_t recurrent_columns(const DeviceCaps& caps) { return std::min(kStateColumns, step_options(caps).group_size); }

ir::Kernel recurrent_step(RecurrentStepParams params, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("recurrent_step{}{}", params.delta ? "_delta" : "", params.interleaved ? "_interleaved" : ""),
                  step_options(caps));
  const Memory query = k.buffer("query", Element::f32), key = k.buffer("key", Element::f32), value = k.buffer("value", Element::f32),
               decay = k.buffer("decay", Element::f32), rate = k.buffer("rate", Element::f32), places = k.buffer("places", Element::u32);
  const Memory states = k.output("states", Element::f32), y = k.output("y", Element::f32);
  const auto parameter = [&](const char* name) { return k.parameter(name, Type::u32); };
  const Value groups = parameter("groups"), heads = parameter("heads"), key_heads = parameter("key_heads"), keys = parameter("keys"),
              values = parameter("values"), decays = parameter("decays"), query_first = parameter("query_first"),
              key_first = parameter("key_first"), value_first = parameter("value_first"), decay_first = parameter("decay_first"),
              rate_first = parameter("rate_first"), from_first = parameter("from_first"), to_first = parameter("to_first"),
              states_first = parameter("states_first"), slot_stride = parameter("slot_stride"), y_first = parameter("y_first");
  const uint32_t columns = recurrent_columns(caps);
  const StateLanes lanes(k, columns);
  const Value group = k.group_id(1) * k.group_count(0) + k.group_id(0);
  k.when(group < groups, [&] {
    const Value parts = (values + (columns - 1)) / columns, row = group / parts, head = row % heads, sequence = row / heads;
    const Value column = group % parts * columns + lanes.column(), has_column = column < values;
    const Value key_head = params.interleaved ? head % key_heads : head / (heads / key_heads);
    const Value key_row = (sequence * key_heads + key_head) * keys;
    const auto state_of = [&](const Value& first) {
      return states_first + places[first + sequence] * slot_stride + head * keys * values + column;
    };
    const Value from = state_of(from_first), to = state_of(to_first);
    const auto key_of = [&](const Value& i, const Value& exists) { return key.load_if(exists, key_first + key_row + i, 0); };
    // What is left of the state's number in row i.
    const auto left_of = [&](const Value& i, const Value& exists) {
      const Value factor = decay.load_if(exists, decay_first + row * decays + select(decays > 1U, i, 0U), 0);
      return states.load_if(exists & has_column, from + i * values, 0) * factor;
    };
    Value added = value.load_if(has_column, value_first + row * values + column, 0);
    if (params.delta) {
      Variable held = k.variable(0.0F);  // under the key
      lanes.each_rows(keys, [&](const StateLanes::Rows& rows, const StateLanes::Rows& exists) {
        Value sum = held;
        for (uint32_t i = 0; i < kRowsAtOnce; ++i) sum = sum + left_of(rows[i], exists[i]) * key_of(rows[i], exists[i]);
        held = sum;
      });
      added = added - lanes.sum(held);
    }
    added = added * rate[rate_first + row];
    Variable result = k.variable(0.0F);
    lanes.each_rows(keys, [&](const StateLanes::Rows& rows, const StateLanes::Rows& exists) {
      StateLanes::Rows changed;
      Value sum = result;
      for (uint32_t i = 0; i < kRowsAtOnce; ++i) {
        changed[i] = left_of(rows[i], exists[i]) + key_of(rows[i], exists[i]) * added;
        sum = sum + changed[i] * query.load_if(exists[i], query_first + key_row + rows[i], 0);
      }
      result = sum;
      for (uint32_t i = 0; i < kRowsAtOnce; ++i) states.store_if(exists[i] & has_column, to + rows[i] * values, changed[i]);
    });
    const Value sum = lanes.sum(result);
    k.when(has_column & (lanes.part() == 0U), [&] { y[y_first + row * values + column] = sum; });
  });
  return k.finish();
}

}  // namespace wick::kernels
