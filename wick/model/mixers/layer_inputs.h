// LayerRows make what layers take of their tokens: a row of each token for each layer (Gemma 3n and 4).
#pragma once

#include <cstdint>

#include "wick/model/description.h"
#include "wick/model/mixers/mixer.h"
#include "wick/model/weights.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/tensor.h"

namespace wick {

class LayerRows {
 public:
  LayerRows(const LayerRowsSpec& spec, int64_t layers, WeightReader& weights, int64_t hidden_size);

  // f32 [rows, layers, width]. `embedded` [rows, hidden_size]: what the first layer reads; tokens: i32 [rows].
  [[nodiscard]] Tensor of(const Tensor& embedded, const Tensor& tokens, const LinearParams& linear) const;

 private:
  int64_t layers_, width_, hidden_size_, tokens_;
  bool lacks_tokens_;  // that the embedding has
  ScaledMatrix table_, projection_;
  Norm norm_;
};

}  // namespace wick
