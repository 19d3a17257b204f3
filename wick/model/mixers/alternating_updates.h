// Alternating updates (Baykal et al. 2023): several residual streams, of which each layer computes one and predicts the others.
#pragma once

#include <cstdint>
#include <memory>

#include "wick/model/description.h"
#include "wick/model/mixers/mixer.h"
#include "wick/model/weights.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/tensor.h"

namespace wick {

// Makes the streams before the first layer and merges them after the last. Streams are f32 [rows, streams, hidden_size].
class AlternatingStreams {
 public:
  AlternatingStreams(const AlternatingSpec& spec, WeightReader& weights, int64_t hidden_size);

  [[nodiscard]] Tensor spread(const Tensor& x, const LinearParams& linear) const;
  // [rows, hidden_size]: their mean, all being as large as the first.
  [[nodiscard]] Tensor merge(const Tensor& streams, const LinearParams& linear) const;

 private:
  // Further streams [rows, streams - 1, hidden_size] as products with one matrix each, as large as `first` [rows, hidden_size].
  [[nodiscard]] Tensor further(const ScaledMatrix& matrices, const Tensor& x, const Tensor& first, const LinearParams& linear) const;

  int64_t streams_;
  ScaledMatrix spread_, merge_;
  Tensor each_;  // i32 [1, streams - 1]: 0, 1 … ; made once, so that a step can be recorded
};

// The part of one layer, which predicts the streams before it and corrects them after it.
class AlternatingUpdates {
 public:
  AlternatingUpdates(const AlternatingSpec& spec, WeightReader& weights, const MixerPlace& place);

  [[nodiscard]] Tensor predict(const Tensor& streams) const;
  // The stream that the layer computes: [rows, hidden_size].
  [[nodiscard]] Tensor active(const Tensor& streams) const;
  // The streams after the layer, whose result for the active one is `computed`.
  [[nodiscard]] Tensor correct(const Tensor& predicted, const Tensor& computed, const MixerContext& context) const;

 private:
  // [rows, streams], of one stream.
  [[nodiscard]] Tensor routed(const Tensor& x) const;

  int64_t streams_, active_, hidden_size_;
  Tensor router_, predict_, correct_, scale_;  // the matrices transposed
  Norm router_norm_, post_norm_;
  std::unique_ptr<Mixer> layer_input_;
};

}  // namespace wick
