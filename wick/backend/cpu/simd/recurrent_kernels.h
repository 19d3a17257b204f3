// Loops of recurrent layers. A step of linear attention for one head: its state is read once, changed, written and multiplied by the query.
// A row of a causal convolution.
#pragma once

#include <cstdint>

namespace wick::cpu {

// The rows of one head for its state [keys, values], and the state's place before and after the step, which may be the same.
struct RecurrentHead {
  const float *query, *key;  // [keys]
  const float* value;        // [values]
  const float* decay;        // of row i: decay[i · decay_step]
  int64_t decay_step;
  float rate;
  const float* before;
  float* after;
  float* result;       // [values]
  bool around_caches;  // whether the state is written to memory, not to the caches, where its rows are whole aligned vectors
};

// A row of some columns: those that each tap sees, and the taps.
struct ConvRow {
  const float* const* seen;  // [kernel], of [columns] each
  const float* weight;       // of tap i: weight + i · weight_stride
  int64_t weight_stride;
  const float* bias;
  float* result;
  bool silu;
};

// As RecurrentStepParams and CausalConvParams define it. Results do not depend on what else is computed.
struct RecurrentKernels {
  void (*step)(const RecurrentHead& head, int64_t keys, int64_t values) = nullptr;
  void (*delta_step)(const RecurrentHead& head, int64_t keys, int64_t values) = nullptr;
  void (*conv_row)(const ConvRow& row, int64_t kernel, int64_t columns) = nullptr;
};

}  // namespace wick::cpu
