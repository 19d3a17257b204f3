// A ScoreHead turns hidden states into scores: a reranker's, or those of a classifier's labels.
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
  // [rows, hidden_size] -> [rows, labels]
  [[nodiscard]] Tensor forward(const Tensor& hidden, const LinearParams& params) const;

  [[nodiscard]] ScoreHeadSpec::Input input() const noexcept { return input_; }
  [[nodiscard]] int64_t labels() const noexcept { return labels_; }

 private:
  ScoreHeadSpec::Input input_;
  ScoreHeadSpec::Activation activation_;
  std::optional<ScaledMatrix> dense_;  // none: the hidden states are multiplied by output_ as they are
  std::optional<Tensor> dense_bias_;
  std::optional<Norm> norm_;
  int64_t labels_;
  ScaledMatrix output_;
  std::optional<Tensor> output_bias_;
};

}  // namespace wick
