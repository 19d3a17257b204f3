#include "wick/model/score_head.h"

#include <algorithm>

#include "wick/tensor/ops/linear.h"

namespace wick {

ScoreHead::ScoreHead(const ScoreHeadSpec& spec, WeightReader& weights, int64_t hidden_size)
    : input_(spec.input), activation_(spec.activation), labels_(std::max<int64_t>(weights.rows_of("cls.output.weight"), 1)) {
  if (weights.has("cls.weight")) {
    dense_ = weights.matrix("cls", hidden_size, hidden_size);
    dense_bias_ = weights.find_vector("cls.bias", hidden_size);
  }
  if (spec.norm) norm_.emplace(*spec.norm, weights, "", hidden_size);
  output_ = weights.matrix("cls.output", labels_, hidden_size);
  output_bias_ = weights.find_vector("cls.output.bias", labels_);
}

Tensor ScoreHead::forward(const Tensor& hidden, const LinearParams& params) const {
  Tensor x = hidden;
  if (dense_) {
    x = biased(dense_->scaled(linear(x, dense_->weight, params)), dense_bias_);
    switch (activation_) {
      case ScoreHeadSpec::Activation::tanh: x = x.tanh(); break;
      case ScoreHeadSpec::Activation::gelu: x = nn::Activation(nn::ActivationKind::gelu).forward(x); break;
      case ScoreHeadSpec::Activation::relu: x = x.relu(); break;
    }
  }
  if (norm_) x = (*norm_)(x);
  return biased(output_.scaled(linear(x, output_.weight, params)), output_bias_);
}

}  // namespace wick
