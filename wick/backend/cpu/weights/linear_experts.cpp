// linear_experts and gated_linear_experts: the rows of each expert that is named are one product, so that its weights are read once and
// those of the others never.
#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "wick/backend/cpu/cpu_runtime.h"
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

class ExpertProducts {
 public:
  explicit ExpertProducts(const OpCall& call)
      : call_(call), gated_(call.op == OpId::gated_linear_experts), weights_(gated_ ? 2 : 1), ids_(call.inputs[1 + weights_]) {
    const Layout &x = *call.inputs[0].layout, &weight = *call.inputs[1].layout;
    columns_ = x.shape().last();
    outputs_ = weight.shape()[1];
    used_ = x.elements() / columns_ == ids_.layout->elements() ? 1 : ids_.layout->shape()[1];
    function_ = op_function(gated_ ? OpId::gated_linear : OpId::linear, call.inputs[1].dtype);
  }

  void run() {
    const int64_t experts = call_.inputs[1].layout->shape()[0];
    const Groups groups(call_, ids_, experts);
    size_t most = 0;
    for (int64_t expert = 0; expert < experts; ++expert) most = std::max(most, groups.of(expert).size());
    if (most > 1) {
      rows_ = call_.runtime->allocate(most * static_cast<size_t>(columns_) * sizeof(float), Lifetime::transient);
      results_ = call_.runtime->allocate(most * static_cast<size_t>(outputs_) * sizeof(float), Lifetime::transient);
    }
    for (int64_t expert = 0; expert < experts; ++expert) {
      const std::span<const int64_t> pairs = groups.of(expert);
      if (pairs.size() == 1) multiply_one(expert, pairs[0]);
      if (pairs.size() > 1) multiply_many(expert, pairs);
    }
  }

 private:
  // Where the activations of a pair are.
  [[nodiscard]] int64_t row_of(int64_t pair) const { return pair / used_ * columns_; }

  void multiply_one(int64_t expert, int64_t pair) {
    const Operand &x = call_.inputs[0], &y = call_.outputs[0];
    const Layout row(Shape({1, columns_}), x.layout->offset() + row_of(pair)),
        result(Shape({1, outputs_}), y.layout->offset() + pair * outputs_);
    multiply(expert, {x.buffer, DType::f32, &row}, {y.buffer, DType::f32, &result});
  }

  void multiply_many(int64_t expert, std::span<const int64_t> pairs) {
    auto* rows = reinterpret_cast<float*>(rows_->host_data());
    const auto* results = reinterpret_cast<const float*>(results_->host_data());
    const auto* x = data_of<const float>(call_.inputs[0]);
    auto* y = data_of<float>(call_.outputs[0]);
    const auto count = static_cast<int64_t>(pairs.size());
    const Layout gathered(Shape({count, columns_})), products(Shape({count, outputs_}));
    for (int64_t i = 0; i < count; ++i) std::copy_n(x + row_of(pairs[static_cast<size_t>(i)]), columns_, rows + i * columns_);
    multiply(expert, {rows_.get(), DType::f32, &gathered}, {results_.get(), DType::f32, &products});
    for (int64_t i = 0; i < count; ++i) std::copy_n(results + i * outputs_, outputs_, y + pairs[static_cast<size_t>(i)] * outputs_);
  }

  void multiply(int64_t expert, const Operand& x, const Operand& y) {
    const LinearParams& params = call_.parameters<LinearParams>();
    std::vector<Layout> layouts;
    layouts.reserve(2 * weights_);
    std::vector<Operand> inputs{x};
    const auto add = [&](const Operand& all) {
      layouts.push_back(part_of(all, expert));
      inputs.push_back({all.buffer, all.dtype, &layouts.back(), all.prepared});
    };
    for (size_t i = 0; i < weights_; ++i) add(call_.inputs[1 + i]);
    for (size_t i = 0; params.has_bias && i < weights_; ++i) add(call_.inputs[2 + weights_ + i]);
    function_({gated_ ? OpId::gated_linear : OpId::linear, &params, inputs, std::span(&y, 1), call_.runtime});
  }

  const OpCall& call_;
  bool gated_;
  size_t weights_;
  const Operand& ids_;
  int64_t columns_ = 0, outputs_ = 0, used_ = 1;  // pairs that share a row of activations
  OpFunction function_ = nullptr;
  std::unique_ptr<Buffer> rows_, results_;
};

}  // namespace

void linear_experts_any(const OpCall& call) { ExpertProducts(call).run(); }

}  // namespace wick::cpu
