// A ScoreHead turns the hidden state of a text's first token into scores: a reranker's, or those of a classifier's labels.
#pragma once

#include <optional>

#include "wick/model/description.h"
#include "wick/model/mixers/mixer.h"
#include "wick/model/weights.h"
#include "wick/tensor/tensor.h"

namespace wick {

class ScoreHead {
 public:
  // Errors: WeightReader::matrix's.
  ScoreHead(const ScoreHeadSpec& spec, WeightReader& weights, int64_t hidden_size);
  // [texts, hidden_size] -> [texts, labels]
  [[nodiscard]] Tensor forward(const Tensor& hidden, const LinearParams& params) const;

 private:
  ScoreHeadSpec::Activation activation_;
  std::optional<ScaledMatrix> dense_;  // none: the hidden states are multiplied by output_ as they are
  std::optional<Tensor> dense_bias_;
  std::optional<Norm> norm_;
  ScaledMatrix output_;
  std::optional<Tensor> output_bias_;
};

}  // namespace wick
