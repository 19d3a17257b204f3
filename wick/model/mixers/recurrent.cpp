#include "wick/model/mixers/recurrent.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "wick/tensor/ops/copy.h"

namespace wick {
namespace {

// Of a kernel [width, kernel], whose columns are the taps.
ColumnTaps taps_of(const Tensor& weight, const std::optional<Tensor>& bias) {
  return {weight.transpose(0, 1).contiguous(), bias ? *bias : Tensor::zeros({weight.dim(0)}, DType::f32, weight.device())};
}

}  // namespace

Tensor StateRange::read(const KvPool& pool, const StateInputs& step, int64_t first, int64_t sequences) const {
  return all(pool).index_select(step.slabs.from.narrow(0, first, sequences), 0);
}

void StateRange::write(const KvPool& pool, const StateInputs& step, int64_t first, const Tensor& values) const {
  const Tensor states = all(pool);
  if (step.recorded) {
    const Tensor to = step.slabs.to.narrow(0, first, values.dim(0)).unsqueeze(1).broadcast_to({values.dim(0), count_});
    return states.scatter_set(to, values, 0);
  }
  const auto slab = [&](int64_t index) { return step.state_to[static_cast<size_t>(first + index)]; };
  // Neighbours at once.
  for (int64_t index = 0; index < values.dim(0);) {
    int64_t end = index + 1;
    while (end < values.dim(0) && slab(end) == slab(end - 1) + 1) ++end;
    copy(values.narrow(0, index, end - index), states.narrow(0, slab(index), end - index));
    index = end;
  }
}

Tensor StateRange::change(const KvPool& pool, const StateInputs& step, const SequenceRun& run, const RecurrentRows& rows,
                          RecurrentStepParams params, bool resumed) const {
  const RecurrentRows flat{.query = rows.query.flatten_to(1),
                           .key = rows.key.flatten_to(1),
                           .value = rows.value.flatten_to(1),
                           .decay = rows.decay.flatten_to(1),
                           .rate = rows.rate.flatten_to(1)};
  const Tensor result = recurrent_step(flat, run.slots(step, resumed), all(pool), params);
  return result.reshape({run.sequences, rows.value.dim(1), result.dim(1), result.dim(2)});
}

Tensor StateRange::convolve(const KvPool& pool, const StateInputs& step, const SequenceRun& run, const Tensor& x, const ColumnTaps& taps,
                            CausalConvParams params) const {
  const Tensor rows = x.narrow(0, run.row, run.sequences * run.positions);
  return causal_conv(rows, taps, run.slots(step), all(pool), params);
}

bool by_position(const SequenceRun& run, bool deterministic, const Device& device) {
  return run.positions == 1 || deterministic || !device.is_cpu();
}

StateSlots SequenceRun::slots(const StateInputs& step, bool resumed) const {
  const auto of_run = [&](const Tensor& slabs) { return slabs.narrow(0, first, sequences); };
  return {of_run(resumed ? step.slabs.to : step.slabs.from), of_run(step.slabs.to)};
}

Tensor SequenceRun::rows_of(const Tensor& all, int64_t column, std::initializer_list<int64_t> extents) const {
  std::vector<int64_t> shape{sequences, positions};
  shape.insert(shape.end(), extents);
  int64_t columns = 1;
  for (const int64_t extent : extents) columns *= extent;
  return all.narrow(0, row, sequences * positions).narrow(1, column, columns).reshape(Shape(shape));
}

std::vector<SequenceRun> runs_of(const StateInputs& step, bool alone) {
  std::vector<SequenceRun> runs;
  for (int64_t index = 0; index < std::ssize(step.state_to); ++index) {
    const int64_t row = step.starts[static_cast<size_t>(index)], positions = step.starts[static_cast<size_t>(index) + 1] - row;
    if (!alone && !runs.empty() && runs.back().positions == positions) {
      ++runs.back().sequences;
    } else {
      runs.push_back({.first = index, .sequences = 1, .row = row, .positions = positions});
    }
  }
  return runs;
}

Tensor joined(const std::vector<Tensor>& parts, int dim) { return parts.size() == 1 ? parts.front() : Tensor::cat(parts, dim); }

ShortConvolution::ShortConvolution(WeightReader& weights, const std::string& name, int64_t recurrent, int64_t width, int64_t kernel)
    : columns_(kernel - 1),
      state_(recurrent, 0, columns_ * width),
      taps_(taps_of(weights.vectors(name + ".weight", width, kernel), weights.find_vector(name + ".bias", width))) {}

ShortConvolution::ShortConvolution(WeightReader& weights, const std::vector<std::string>& names, int64_t recurrent, int64_t width,
                                   int64_t kernel)
    : columns_(kernel - 1), state_(recurrent, 0, columns_ * width) {
  std::vector<Tensor> parts;
  for (const std::string& name : names) parts.push_back(weights.kernels(name + ".weight", width / std::ssize(names), kernel));
  taps_ = taps_of(Tensor::cat(parts, 0), std::nullopt);
}

Tensor ShortConvolution::forward(const Tensor& x, const KvPool& pool, const StateInputs& step, CausalConvParams params) const {
  if (columns_ == 0) {
    const Tensor sum = x * taps_.weight + taps_.bias;
    return params.silu ? sum.silu() : sum;
  }
  std::vector<Tensor> parts;
  for (const SequenceRun& run : runs_of(step)) parts.push_back(state_.convolve(pool, step, run, x, taps_, params));
  return joined(parts, 0);
}

Tensor TokenShift::forward(const Tensor& x, const KvPool& pool, const StateInputs& step) const {
  const Tensor all = Tensor::cat({state_.read(pool, step), x}, 0);
  state_.write(pool, step, 0, all.index_select(step.last, 0));
  return all.index_select(step.before, 0);
}

TriangleInverse::TriangleInverse(const Device& device) {
  for (int64_t size = 1; size < kMaxPositions; size *= 2) {
    std::vector<float> mask;
    for (int64_t row = 0; row < kMaxPositions; ++row) {
      for (int64_t column = 0; column < kMaxPositions; ++column) {
        mask.push_back(row / (2 * size) == column / (2 * size) && row / size > column / size ? 1.0F : 0.0F);
      }
    }
    masks_.push_back(Tensor::from_vector(mask, {kMaxPositions, kMaxPositions}, device));
  }
}

// Of a block triangle, the inverse is [A⁻¹, 0; -D⁻¹·B·A⁻¹, D⁻¹]: blocks are joined two by two. Sums of powers, which need as few products,
// cancel each other where keys are alike.
Tensor TriangleInverse::operator()(const Tensor& lower) const {
  const int64_t count = lower.dim(-1);
  const auto joined_by = [&](const Tensor& mask) { return lower * mask.narrow(0, 0, count).narrow(1, 0, count); };
  Tensor inverted = Tensor::eye(count, DType::f32, lower.device()) - joined_by(masks_.front());
  for (size_t level = 1; level < masks_.size() && int64_t{1} << level < count; ++level) {
    inverted = inverted - inverted.matmul(joined_by(masks_[level])).matmul(inverted);
  }
  return inverted;
}

}  // namespace wick
