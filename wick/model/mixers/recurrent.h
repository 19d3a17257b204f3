// Parts of the mixers that keep a state of each sequence (KvPool::states): its numbers, a short convolution, and sequences of one length.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "wick/model/kv/kv_pool.h"
#include "wick/model/step_inputs.h"
#include "wick/model/weights.h"
#include "wick/tensor/ops/causal_conv.h"
#include "wick/tensor/ops/recurrent_step.h"
#include "wick/tensor/tensor.h"

namespace wick {

// Neighbouring sequences of a step with equally many rows, which are computed together.
struct SequenceRun {
  int64_t first = 0, sequences = 0;  // of the step's
  int64_t row = 0;                   // the first one
  int64_t positions = 0;             // rows of each sequence

  // The slabs of its states: those that they are read from, or, after earlier positions of the run, those that were written.
  [[nodiscard]] StateSlots slots(const StateInputs& step, bool resumed = false) const;
  // Columns from `column` on of the run's rows in `all` [rows, columns]: [sequences, positions, extents…].
  [[nodiscard]] Tensor rows_of(const Tensor& all, int64_t column, std::initializer_list<int64_t> extents) const;
};
// `alone`: each sequence is a run, so that its results do not depend on the others.
[[nodiscard]] std::vector<SequenceRun> runs_of(const StateInputs& step, bool alone = false);

// A range of the numbers that a recurrent layer keeps of each sequence.
class StateRange {
 public:
  StateRange(int64_t recurrent, int64_t first, int64_t count) : recurrent_(recurrent), first_(first), count_(count) {}

  // The numbers that the step's sequences begin with: f32 [sequences, count].
  [[nodiscard]] Tensor read(const KvPool& pool, const StateInputs& step) const { return read(pool, step, 0, std::ssize(step.state_to)); }
  // The same of some sequences.
  [[nodiscard]] Tensor read(const KvPool& pool, const StateInputs& step, int64_t first, int64_t sequences) const;
  // Sets those of sequence number `first` of the step and of those after it: [any, count].
  void write(const KvPool& pool, const StateInputs& step, int64_t first, const Tensor& values) const;
  // recurrent_step of positions of a run, where the pool has these numbers, states [heads, k, v]: f32 [sequences, positions, heads, v]. The
  // rows have sequences and positions as dimensions of their own, too. `resumed`: after earlier positions of the run.
  [[nodiscard]] Tensor change(const KvPool& pool, const StateInputs& step, const SequenceRun& run, const RecurrentRows& rows,
                              RecurrentStepParams params, bool resumed = false) const;
  // causal_conv of a run's rows of x, f32 [rows, width] of all sequences, where the pool has these numbers, [kernel - 1, width].
  [[nodiscard]] Tensor convolve(const KvPool& pool, const StateInputs& step, const SequenceRun& run, const Tensor& x,
                                const ColumnTaps& taps, CausalConvParams params) const;

 private:
  // Those of all slots of the pool.
  [[nodiscard]] Tensor all(const KvPool& pool) const { return pool.states(recurrent_).narrow(1, first_, count_); }

  int64_t recurrent_, first_, count_;
};

// Whether a run's states change position by position (StateRange::change): where each sequence has one, where results must not depend on
// how positions are put together, and on devices with kernels, which a chunk's many launches cost more than its products of matrices gain.
[[nodiscard]] bool by_position(const SequenceRun& run, bool deterministic, const Device& device);

// A tensor of its parts, one behind the other along a dimension.
[[nodiscard]] Tensor joined(const std::vector<Tensor>& parts, int dim);

// scan(first, count) gives [sequences, count, …] of `count` positions from `first` on, at most `chunk` of them, and is called for all in
// their order. Returns what it gives of all.
template <class Scan>
[[nodiscard]] Tensor in_chunks(int64_t positions, int64_t chunk, const Scan& scan) {
  std::vector<Tensor> parts;
  for (int64_t first = 0; first < positions; first += chunk) parts.push_back(scan(first, std::min(chunk, positions - first)));
  return joined(parts, 1);
}

// A causal convolution of each column by itself. Weights: "<name>.weight" [width, kernel], "<name>.bias" [width] where there is one.
class ShortConvolution {
 public:
  // Its columns are the first of the layer's state.
  ShortConvolution(WeightReader& weights, const std::string& name, int64_t recurrent, int64_t width, int64_t kernel);
  // Equally many columns by each of several weights, which have no biases.
  ShortConvolution(WeightReader& weights, const std::vector<std::string>& names, int64_t recurrent, int64_t width, int64_t kernel);

  // x: f32 [rows, width], of all of the step's sequences.
  [[nodiscard]] Tensor forward(const Tensor& x, const KvPool& pool, const StateInputs& step, CausalConvParams params = {}) const;

 private:
  int64_t columns_;
  StateRange state_;
  ColumnTaps taps_;
};

// Each row's predecessor in its sequence, which is 0 before the first.
class TokenShift {
 public:
  // Its column is the first of the layer's state.
  TokenShift(int64_t recurrent, int64_t width) : state_(recurrent, 0, width) {}

  // x: f32 [rows, width], of all of the step's sequences.
  [[nodiscard]] Tensor forward(const Tensor& x, const KvPool& pool, const StateInputs& step) const;

 private:
  StateRange state_;
};

// The inverses of 1 + lower triangles, for a delta rule: what each position changes depends on what the ones before it changed.
class TriangleInverse {
 public:
  static constexpr int64_t kMaxPositions = 64;

  explicit TriangleInverse(const Device& device);
  // (1 + lower)⁻¹ of the strictly lower triangles of [.., positions, positions].
  [[nodiscard]] Tensor operator()(const Tensor& lower) const;

 private:
  // For blocks of 1, 2, 4 … positions, 1 where row and column are in neighbouring blocks that the next larger blocks join.
  std::vector<Tensor> masks_;
};

// Positions at once where each channel decays by itself: a product with what is left of each channel is made for each two of them.
inline constexpr int64_t kChannelChunk = 16;

}  // namespace wick
