// linear_experts and gated_linear_experts: the rows of each expert that is named are one product, so that its weights are read once and
// those of the others never.
#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "wick/backend/cpu/cpu_runtime.h"
#include "wick/backend/cpu/linear/linear_job.h"
#include "wick/backend/cpu/op_table.h"
#include "wick/op/index_range.h"

namespace wick::cpu {
namespace {

// (token, expert) pairs, by expert, in their own order for each.
struct Groups {
  std::vector<int64_t> pairs, starts;  // those of expert e: pairs[starts[e]] … pairs[starts[e + 1] - 1]

  Groups(const OpCall& call, const Operand& ids, int64_t experts) : starts(static_cast<size_t>(experts) + 1) {
    const std::span numbers(data_of<const int32_t>(ids), static_cast<size_t>(ids.layout->elements()));
    for (size_t pair = 0; pair < numbers.size(); ++pair) {
      const int64_t id = numbers[pair];
      if (id < 0 || id >= experts) fail_index(call.op, id, ids.layout->shape(), static_cast<int64_t>(pair), 0, experts);
      ++starts[static_cast<size_t>(id) + 1];
    }
    for (size_t expert = 0; expert < static_cast<size_t>(experts); ++expert) starts[expert + 1] += starts[expert];
    std::vector<int64_t> next(starts.begin(), starts.end() - 1);
    pairs.resize(numbers.size());
    for (size_t pair = 0; pair < numbers.size(); ++pair) {
      pairs[static_cast<size_t>(next[static_cast<size_t>(numbers[pair])]++)] = static_cast<int64_t>(pair);
    }
  }
  [[nodiscard]] std::span<const int64_t> of(int64_t expert) const {
    const auto first = static_cast<size_t>(starts[static_cast<size_t>(expert)]),
               last = static_cast<size_t>(starts[static_cast<size_t>(expert) + 1]);
    return std::span(pairs).subspan(first, last - first);
  }
};

// The layout of one expert's part of [experts, …].
Layout part_of(const Operand& all, int64_t expert) { return all.layout->narrow(0, expert, 1).squeeze(0); }

// One expert's product as a call of linear or gated_linear, with what its operands refer to.
struct ExpertCall {
  std::span<const int64_t> pairs;
  int64_t place;
  std::vector<Layout> layouts = {};
  std::vector<Operand> inputs = {};
  Operand output = {};
};

class ExpertProducts {
 public:
  explicit ExpertProducts(const OpCall& call)
      : call_(call), gated_(call.op == OpId::gated_linear_experts), weights_(gated_ ? 2 : 1), ids_(call.inputs[1 + weights_]) {
    const Layout &x = *call.inputs[0].layout, &weight = *call.inputs[1].layout;
    columns_ = x.shape().last();
    outputs_ = weight.shape()[1];
    used_ = x.elements() / columns_ == ids_.layout->elements() ? 1 : ids_.layout->shape()[1];
    function_ = op_function(gated_ ? OpId::gated_linear : OpId::linear, call.inputs[1].dtype);
    few_ = static_cast<size_t>(runtime_of(call).kernels().tile_kernels(call.inputs[1].dtype).few_rows);
  }

  void run() {
    const int64_t experts = call_.inputs[1].layout->shape()[0];
    const Groups groups(call_, ids_, experts);
    allocate(groups, experts);
    std::vector<ExpertCall> few;
    few.reserve(static_cast<size_t>(std::min<int64_t>(experts, ids_.layout->elements())));
    int64_t place = 0;
    for (int64_t expert = 0; expert < experts; ++expert) {
      const std::span<const int64_t> pairs = groups.of(expert);
      if (pairs.empty()) continue;
      if (pairs.size() > few_) {
        multiply_many(expert, pairs);
      } else {
        few.push_back(call_of(expert, pairs, place));
        if (!lies_alone(pairs)) place += std::ssize(pairs);
      }
    }
    // After the others, which use the same memory.
    for (const ExpertCall& one : few) gather(one);
    multiply_few(few);
    for (const ExpertCall& one : few) scatter(one);
  }

 private:
  // A thread's share is worth a fork only from about this many numbers on.
  static constexpr int64_t kNumbersPerFork = 1 << 15;

  // Where the activations of a pair are.
  [[nodiscard]] int64_t row_of(int64_t pair) const { return pair / used_ * columns_; }
  // An expert's only pair is read and written where it lies.
  [[nodiscard]] static bool lies_alone(std::span<const int64_t> pairs) { return pairs.size() == 1; }

  // Room for the rows of each expert that has many, one after the other, and for those of all that have few at once.
  void allocate(const Groups& groups, int64_t experts) {
    size_t most = 0, together = 0;
    for (int64_t expert = 0; expert < experts; ++expert) {
      const size_t count = groups.of(expert).size();
      if (count > few_) most = std::max(most, count);
      if (count > 1 && count <= few_) together += count;
    }
    const size_t rows = std::max(most, together);
    if (rows == 0) return;
    rows_ = call_.runtime->allocate(rows * static_cast<size_t>(columns_) * sizeof(float), Lifetime::transient);
    results_ = call_.runtime->allocate(rows * static_cast<size_t>(outputs_) * sizeof(float), Lifetime::transient);
  }

  // `place`: its first row in the gathered ones.
  ExpertCall call_of(int64_t expert, std::span<const int64_t> pairs, int64_t place) {
    ExpertCall one{.pairs = pairs, .place = place};
    const LinearParams& params = call_.parameters<LinearParams>();
    const Operand &x = call_.inputs[0], &y = call_.outputs[0];
    const auto count = std::ssize(pairs);
    one.layouts.reserve(2 + 2 * weights_);
    const auto operand = [&](Buffer* buffer, DType dtype, const Layout& layout, const PreparedWeight* prepared) {
      return Operand{buffer, dtype, &one.layouts.emplace_back(layout), prepared};
    };
    const bool alone = lies_alone(pairs);
    const int64_t in = alone ? x.layout->offset() + row_of(pairs[0]) : place * columns_;
    const int64_t out = alone ? y.layout->offset() + pairs[0] * outputs_ : place * outputs_;
    one.inputs.push_back(operand(alone ? x.buffer : rows_.get(), DType::f32, Layout(Shape({count, columns_}), in), nullptr));
    one.output = operand(alone ? y.buffer : results_.get(), DType::f32, Layout(Shape({count, outputs_}), out), nullptr);
    const auto add = [&](const Operand& all) { one.inputs.push_back(operand(all.buffer, all.dtype, part_of(all, expert), all.prepared)); };
    for (size_t i = 0; i < weights_; ++i) add(call_.inputs[1 + i]);
    for (size_t i = 0; params.has_bias && i < weights_; ++i) add(call_.inputs[2 + weights_ + i]);
    return one;
  }
  [[nodiscard]] OpCall op_call(const ExpertCall& one) const {
    return {gated_ ? OpId::gated_linear : OpId::linear, call_.params, one.inputs, std::span(&one.output, 1), call_.runtime};
  }

  // Calls body(row of the gathered ones, pair) for the pairs of an expert that has several.
  template <class Body>
  void for_each_row(const ExpertCall& one, int64_t numbers, const Body& body) const {
    if (lies_alone(one.pairs)) return;
    runtime_of(call_).threads().parallel_for(std::ssize(one.pairs), std::max<int64_t>(1, kNumbersPerFork / numbers),
                                             [&](int64_t begin, int64_t end) {
                                               for (int64_t i = begin; i < end; ++i) body(one.place + i, one.pairs[static_cast<size_t>(i)]);
                                             });
  }
  void gather(const ExpertCall& one) const {
    const auto* x = data_of<const float>(call_.inputs[0]);
    for_each_row(one, columns_, [&](int64_t row, int64_t pair) {
      std::copy_n(x + row_of(pair), columns_, reinterpret_cast<float*>(rows_->host_data()) + row * columns_);
    });
  }
  void scatter(const ExpertCall& one) const {
    auto* y = data_of<float>(call_.outputs[0]);
    for_each_row(one, outputs_, [&](int64_t row, int64_t pair) {
      std::copy_n(reinterpret_cast<const float*>(results_->host_data()) + row * outputs_, outputs_, y + pair * outputs_);
    });
  }

  void multiply_many(int64_t expert, std::span<const int64_t> pairs) {
    const ExpertCall one = call_of(expert, pairs, 0);
    gather(one);
    function_(op_call(one));
    scatter(one);
  }

  // Experts whose weights stream by share one fork-join.
  void multiply_few(std::span<const ExpertCall> few) {
    std::vector<OpCall> streams;
    streams.reserve(few.size());
    for (const ExpertCall& one : few) {
      const OpCall call = op_call(one);
      streams_tiles(call) ? streams.push_back(call) : function_(call);
    }
    if (!streams.empty()) stream_tiles(streams);
  }

  const OpCall& call_;
  bool gated_;
  size_t weights_;
  const Operand& ids_;
  int64_t columns_ = 0, outputs_ = 0, used_ = 1;  // pairs that share a row of activations
  size_t few_ = 0;                                // rows of activations that weights stream by for
  OpFunction function_ = nullptr;
  std::unique_ptr<Buffer> rows_, results_;  // none where no expert has several pairs
};

}  // namespace

void linear_experts_any(const OpCall& call) { ExpertProducts(call).run(); }

}  // namespace wick::cpu
