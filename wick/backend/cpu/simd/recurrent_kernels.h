// A step of linear attention for one head: its state is read once, changed, written and multiplied by the query.
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

// As RecurrentStepParams define it. Results do not depend on what else is computed.
struct RecurrentKernels {
  void (*step)(const RecurrentHead& head, int64_t keys, int64_t values) = nullptr;
  void (*delta_step)(const RecurrentHead& head, int64_t keys, int64_t values) = nullptr;
};

}  // namespace wick::cpu
