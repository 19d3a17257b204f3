// linear_experts: a few pairs of token and expert are a row of groups each, which read the ids themselves; many are sorted by expert on the
// device first, so that the tiles of each expert's pairs read its weights once.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>

#include "wick/kernels/linear.h"
#include "wick/tensor/ops/launchers/launchers.h"
#include "wick/tensor/ops/launchers/weight_operands.h"

namespace wick::launchers {
namespace {

using kernels::LinearForm;

class ExpertCall {
 public:
  ExpertCall(const OpCall& call, size_t weights)
      : call_(call),
        runtime_(*call.runtime),
        params_(call.parameters<LinearParams>()),
        weights_(weights),
        x_(activations_of(*call.runtime, call.inputs[0])),
        ids_(call.inputs[1 + weights]) {
    const Shape& weight = call.inputs[1].layout->shape();
    experts_ = weight[0];
    rows_ = weight[1];
    pairs_ = ids_.layout->elements();
    used_ = x_.rows == pairs_ ? 1 : ids_.layout->shape()[1];
    check_range(call.inputs[1]);
    check_range(call.inputs[weights]);
  }

  void run() {
    // Tiles of fewer pairs would compute more than reading the weights again costs; and few tiles, such as those of a matrix of few rows,
    // leave most of the device idle.
    constexpr int64_t kPairsOfExpert = 8;
    const DeviceCaps& caps = runtime_.caps();
    const uint32_t block = kernels::linear_block(caps);
    tiles_ = pairs_ / block + std::min(pairs_, experts_ + 1);
    const bool fits = static_cast<uint64_t>(experts_ + 1) * sizeof(uint32_t) <= caps.max_shared_bytes;
    const bool fills = 2 * tiles_ * groups_along(rows_, block) >= caps.compute_units;
    const bool many = (pairs_ > kPairsOfExpert * experts_ && fills) || pairs_ > caps.max_group_count[2];
    // Both add up in orders of their own.
    if (many && fits && !params_.deterministic) return multiply_groups();
    multiply_pairs();
  }

 private:
  [[nodiscard]] const Operand& weight(size_t i) const { return call_.inputs[1 + i]; }
  [[nodiscard]] const Operand& bias(size_t i) const { return call_.inputs[2 + weights_ + i]; }
  [[nodiscard]] int64_t ids_offset() const { return ids_.layout->offset(); }

  void multiply_pairs() {
    const DeviceCaps& caps = runtime_.caps();
    const std::optional<GateKind> gate = weights_ == 2 ? std::optional(params_.gate) : std::nullopt;
    const LinearForm form{weight(0).dtype, access_of(weight(0)), gate, 1, {.bias = params_.has_bias}, true};
    const Program& program = runtime_.program(
        {"matvec_experts", {number_of(form.dtype), static_cast<uint32_t>(form.access), gate_number(gate), form.extras.number()}},
        [&] { return kernels::matvec(form, 1, caps); });
    std::array<const Operand*, 2> weights{&weight(0), &weight(weights_ - 1)};
    Arguments arguments = weight_arguments(runtime_, std::span(weights).first(weights_));
    arguments.buffer(*x_.buffer).buffer(ids_);
    for (size_t i = 0; params_.has_bias && i < weights_; ++i) arguments.buffer(bias(i));
    arguments.buffer(call_.outputs[0]);
    arguments.size(x_.offset).size(x_.columns).size(rows_).size(first_of(call_.outputs[0])).size(1);
    arguments.size(ids_offset()).size(experts_).size(used_);
    const auto rows_of_group = static_cast<int64_t>(kernels::matvec_rows_per_group(form, caps));
    const int64_t groups = (rows_ + rows_of_group - 1) / rows_of_group;
    const auto x = std::min<int64_t>(groups, caps.max_group_count[0]);
    launch(runtime_, program, {static_cast<uint32_t>(x), groups_along(groups, static_cast<uint32_t>(x)), static_cast<uint32_t>(pairs_)},
           arguments);
  }

  void multiply_groups() {
    const DeviceCaps& caps = runtime_.caps();
    const uint32_t block = kernels::linear_block(caps);
    const auto experts = static_cast<uint32_t>(experts_);
    plan_ = runtime_.allocate(static_cast<size_t>(3 * tiles_ + pairs_) * sizeof(uint32_t), Lifetime::transient);
    const Program& program =
        runtime_.program({"group_by_expert", {experts, block}}, [&] { return kernels::group_by_expert(experts, block, caps); });
    launch(runtime_, program, {1, 1, 1}, Arguments().buffer(ids_).buffer(*plan_).size(ids_offset()).size(pairs_).size(tiles_));
    const Operand& y = call_.outputs[0];
    if (weights_ == 1) return multiply_blocks(0, *y.buffer, first_of(y));
    const int64_t count = pairs_ * rows_;
    const std::unique_ptr<Buffer> gate = runtime_.allocate(static_cast<size_t>(count) * sizeof(float), Lifetime::transient);
    multiply_blocks(0, *gate, 0);
    multiply_blocks(1, *y.buffer, first_of(y));
    const bool quads = count % 4 == 0 && first_of(y) % 4 == 0;
    const Program& activation = runtime_.program({"gate_pairs", {gate_number(params_.gate), quads ? 1U : 0U}},
                                                 [&] { return kernels::gate_pairs(params_.gate, quads, caps); });
    launch(runtime_, activation, kernels::groups_for(activation.kernel(), static_cast<uint64_t>(quads ? count / 4 : count), caps),
           Arguments().buffer(*gate).buffer(y).size(count).size(first_of(y)));
  }

  void multiply_blocks(size_t which, const Buffer& y, int64_t offset) {
    const DeviceCaps& caps = runtime_.caps();
    const LinearForm form{weight(which).dtype, access_of(weight(which)), {}, 1, {.bias = params_.has_bias}, true};
    const Program& program =
        runtime_.program({"linear_blocks_experts", {number_of(form.dtype), static_cast<uint32_t>(form.access), form.extras.number()}},
                         [&] { return kernels::linear_blocks(form, caps); });
    const std::array<const Operand*, 1> weights{&weight(which)};
    Arguments arguments = weight_arguments(runtime_, weights);
    arguments.buffer(*x_.buffer).buffer(*plan_);
    if (params_.has_bias) arguments.buffer(bias(which));
    arguments.buffer(y);
    arguments.size(x_.offset).size(x_.columns).size(rows_).size(offset).size(pairs_);
    arguments.size(experts_).size(used_).size(3 * tiles_);
    launch(runtime_, program, {groups_along(rows_, kernels::linear_block(caps)), static_cast<uint32_t>(tiles_), 1}, arguments);
  }

  const OpCall& call_;
  Runtime& runtime_;
  const LinearParams& params_;
  size_t weights_;  // 1, or 2 of a gated pair
  Activations x_;
  const Operand& ids_;
  int64_t experts_ = 0, rows_ = 0, pairs_ = 0, used_ = 1;
  int64_t tiles_ = 0;
  std::unique_ptr<Buffer> plan_;
};

}  // namespace

void linear_experts(const OpCall& call) { ExpertCall(call, 1).run(); }

void gated_linear_experts(const OpCall& call) { ExpertCall(call, 2).run(); }

}  // namespace wick::launchers
