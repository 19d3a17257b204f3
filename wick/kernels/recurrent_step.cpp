#include "wick/kernels/recurrent_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "wick/kernels/group_options.h"

namespace wick::kernels {

using namespace ir;

namespace {

constexpr uint32_t kMaxColumns = 32;
constexpr uint32_t kMinLanes = 32;
// Shared memory is read in vectors of so many rows.
constexpr uint32_t kFour = 4;

// How a group shares out its columns of a state: a lane has one column, and of its rows `rows` neighbours.
struct StateLanes {
  uint32_t group, columns, parts, rows;

  // The state's rows, rounded up to what the lanes have.
  [[nodiscard]] uint32_t keys() const { return parts * rows; }
};

uint32_t group_limit(const DeviceCaps& caps) { return group_options(caps, 256).group_size; }

StateLanes lanes_of(const RecurrentShape& shape, const DeviceCaps& caps) {
  const uint32_t limit = group_limit(caps), fours = (shape.keys + kFour - 1) / kFour;
  const uint32_t parts = std::min(limit / shape.columns, std::bit_ceil(fours));
  // No smaller than a subgroup, some of whose lanes then have nothing to do.
  const uint32_t group = std::max(shape.columns * parts, std::min(kMinLanes, limit));
  return {group, shape.columns, parts, (fours + parts - 1) / parts * kFour};
}

// The sum of numbers, two neighbours at a time.
Value sum_of(std::vector<Value> numbers) {
  while (numbers.size() > 1) {
    std::vector<Value> sums;
    for (size_t i = 0; i < numbers.size(); i += 2) sums.push_back(i + 1 < numbers.size() ? numbers[i] + numbers[i + 1] : numbers[i]);
    numbers = std::move(sums);
  }
  return numbers.front();
}

// A lane keeps its numbers of a state in variables from the first position to the last. While a position is computed, the next one's rows
// are on their way to the other half of shared memory, and its other numbers to variables.
class RecurrentStepKernel {
 public:
  RecurrentStepKernel(RecurrentStepParams params, const RecurrentShape& shape, const DeviceCaps& caps)
      : params_(params),
        shape_(shape),
        lanes_(lanes_of(shape, caps)),
        k_(fmt::format("recurrent_step{}{}{}_{}_{}", params.delta ? "_delta" : "", params.interleaved ? "_interleaved" : "",
                       shape.decays_by_key ? "_by_key" : "", shape.keys, shape.columns),
           {.group_size = lanes_.group}),
        query_(k_.buffer("query", Element::f32)),
        key_(k_.buffer("key", Element::f32)),
        value_(k_.buffer("value", Element::f32)),
        decay_(k_.buffer("decay", Element::f32)),
        rate_(k_.buffer("rate", Element::f32)),
        places_(k_.buffer("places", Element::u32)),
        states_(k_.output("states", Element::f32)),
        y_(k_.output("y", Element::f32)),
        staged_(k_.shared(Element::f32, 2 * kinds() * lanes_.keys())),
        sums_(k_.shared(Element::f32, 2 * lanes_.group)) {}

  [[nodiscard]] Kernel build() {
    const Value groups = parameter("groups");
    positions_ = parameter("positions");
    heads_ = parameter("heads");
    key_heads_ = parameter("key_heads");
    values_ = parameter("values");
    query_first_ = parameter("query_first");
    key_first_ = parameter("key_first");
    value_first_ = parameter("value_first");
    decay_first_ = parameter("decay_first");
    rate_first_ = parameter("rate_first");
    const Value from_first = parameter("from_first"), to_first = parameter("to_first"), states_first = parameter("states_first"),
                slot_stride = parameter("slot_stride");
    y_first_ = parameter("y_first");
    const Value group = k_.group_id(1) * k_.group_count(0) + k_.group_id(0);
    k_.when(group < groups, [&] {
      const Value of_state = (values_ + (shape_.columns - 1)) / shape_.columns, state = group / of_state;
      sequence_ = state / heads_;
      head_ = state % heads_;
      key_head_ = params_.interleaved ? head_ % key_heads_ : head_ / (heads_ / key_heads_);
      column_ = group % of_state * shape_.columns + k_.local_id() % shape_.columns;
      part_ = k_.local_id() / shape_.columns;
      const auto state_of = [&](const Value& first) {
        return states_first + places_[first + sequence_] * slot_stride + head_ * shape_.keys * values_ + column_;
      };
      scan(state_of(from_first), state_of(to_first));
    });
    return k_.finish();
  }

 private:
  // Rows that each position has for all columns: the key, the query, and the decays if rows have their own.
  [[nodiscard]] uint32_t kinds() const { return shape_.decays_by_key ? 3 : 2; }
  [[nodiscard]] Value parameter(const char* name) { return k_.parameter(name, Type::u32); }
  [[nodiscard]] Value has_column() const { return column_ < values_; }
  [[nodiscard]] Value row_of(const Value& position) const { return (sequence_ * positions_ + position) * heads_ + head_; }
  [[nodiscard]] Value value_of(const Value& position) const {
    return value_.load_if(has_column() & (position < positions_), value_first_ + row_of(position) * values_ + column_, 0);
  }
  [[nodiscard]] Value rate_of(const Value& position) const {
    return rate_.load_if(position < positions_, rate_first_ + row_of(position), 0);
  }
  [[nodiscard]] Value decay_of(const Value& position) const {
    return decay_.load_if(position < positions_, decay_first_ + row_of(position), 0);
  }

  // What this lane brings of a position's rows: of each kind, every `group`th number.
  [[nodiscard]] std::vector<Value> load_rows(const Value& position) {
    const Value key_row = ((sequence_ * positions_ + position) * key_heads_ + key_head_) * shape_.keys;
    std::vector<Value> loaded;
    for (uint32_t kind = 0; kind < kinds(); ++kind) {
      for (uint32_t first = 0; first < lanes_.keys(); first += lanes_.group) {
        const Value i = k_.local_id() + first, exists = (i < shape_.keys) & (position < positions_);
        loaded.push_back(kind == 0   ? key_.load_if(exists, key_first_ + key_row + i, 0)
                         : kind == 1 ? query_.load_if(exists, query_first_ + key_row + i, 0)
                                     : decay_.load_if(exists, decay_first_ + row_of(position) * shape_.keys + i, 0));
      }
    }
    return loaded;
  }
  void stage(const std::vector<Value>& loaded, const Value& half) {
    size_t next = 0;
    for (uint32_t kind = 0; kind < kinds(); ++kind) {
      for (uint32_t first = 0; first < lanes_.keys(); first += lanes_.group) {
        const Value i = k_.local_id() + first;
        staged_.store_if(i < lanes_.keys(), half + kind * lanes_.keys() + i, loaded[next++]);
      }
    }
  }
  // The lane's rows of a kind.
  [[nodiscard]] std::vector<Value> staged_rows(uint32_t kind, const Value& half) const {
    const Value first = half + kind * lanes_.keys() + min(part_, lanes_.parts - 1) * lanes_.rows;
    std::vector<Value> rows;
    for (uint32_t row = 0; row < lanes_.rows; row += kFour) {
      const Vector four = staged_.load4(first + row);
      for (uint32_t i = 0; i < kFour; ++i) rows.push_back(four[i]);
    }
    return rows;
  }
  // The sum of the column's products, in each of its lanes. `place` is not that of the sum before. Stands in uniform control flow.
  [[nodiscard]] Value column_sum(const std::vector<Value>& products, const Value& place) {
    sums_[place + k_.local_id()] = sum_of(products);
    k_.barrier();
    std::vector<Value> parts;
    for (uint32_t part = 0; part < lanes_.parts; ++part) {
      parts.push_back(sums_[place + k_.local_id() % shape_.columns + part * shape_.columns]);
    }
    return sum_of(parts);
  }

  void scan(const Value& from, const Value& to) {
    const Value row = part_ * lanes_.rows, has_rows = has_column() & (part_ < lanes_.parts), first = k_.constant(0U);
    const auto each_row = [&](const auto& body) {
      for (uint32_t i = 0; i < lanes_.rows; ++i) body(i, row + i, has_rows & (row + i < shape_.keys));
    };
    std::vector<Value> before;
    each_row([&](uint32_t, const Value& key, const Value& exists) { before.push_back(states_.load_if(exists, from + key * values_, 0)); });
    stage(load_rows(first), first);
    Variable value = k_.variable(value_of(first)), rate = k_.variable(rate_of(first)),
             decay = k_.variable(shape_.decays_by_key ? k_.constant(0.0F) : decay_of(first));
    std::vector<Variable> state;
    for (const Value& number : before) state.push_back(k_.variable(number));
    k_.barrier();
    k_.loop(first, positions_, 1, [&](const Value& position) {
      const uint32_t half_size = kinds() * lanes_.keys();
      const Value parity = position % 2U, half = parity * half_size, next = position + 1U;
      const std::vector<Value> next_rows = load_rows(next);
      const Value next_value = value_of(next), next_rate = rate_of(next);
      const Value next_decay = shape_.decays_by_key ? Value(decay) : decay_of(next);
      const std::vector<Value> keys = staged_rows(0, half), queries = staged_rows(1, half);
      std::vector<Value> decays(lanes_.rows, decay), left(lanes_.rows), products(lanes_.rows);
      if (shape_.decays_by_key) decays = staged_rows(2, half);
      for (uint32_t i = 0; i < lanes_.rows; ++i) left[i] = state[i] * decays[i];
      Value added = value;
      if (params_.delta) {
        for (uint32_t i = 0; i < lanes_.rows; ++i) products[i] = left[i] * keys[i];
        added = added - column_sum(products, k_.constant(0U));
      }
      added = added * rate;
      for (uint32_t i = 0; i < lanes_.rows; ++i) {
        const Value changed = left[i] + keys[i] * added;
        products[i] = changed * queries[i];
        state[i] = changed;
      }
      stage(next_rows, half_size - half);
      // The delta rule's other sum lies between two of these.
      const Value result = column_sum(products, params_.delta ? k_.constant(lanes_.group) : parity * lanes_.group);
      k_.when(has_column() & (part_ == 0U), [&] { y_[y_first_ + row_of(position) * values_ + column_] = result; });
      value = next_value;
      rate = next_rate;
      decay = next_decay;
    });
    each_row([&](uint32_t i, const Value& key, const Value& exists) { states_.store_if(exists, to + key * values_, state[i]); });
  }

  RecurrentStepParams params_;
  RecurrentShape shape_;
  StateLanes lanes_;
  KernelBuilder k_;
  Memory query_, key_, value_, decay_, rate_, places_, states_, y_, staged_, sums_;
  Value positions_, heads_, key_heads_, values_;
  Value query_first_, key_first_, value_first_, decay_first_, rate_first_, y_first_;
  Value sequence_, head_, key_head_;  // of the group
  Value column_, part_;               // of the lane
};

}  // namespace

uint32_t recurrent_columns(int64_t values, const DeviceCaps& caps) {
  const auto limit = static_cast<int64_t>(std::min(kMaxColumns, group_limit(caps)));
  return std::bit_ceil(static_cast<uint32_t>(std::min(values, limit)));
}

ir::Kernel recurrent_step(RecurrentStepParams params, const RecurrentShape& shape, const DeviceCaps& caps) {
  return RecurrentStepKernel(params, shape, caps).build();
}

}  // namespace wick::kernels
