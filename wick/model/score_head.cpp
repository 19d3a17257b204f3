#include "wick/model/score_head.h"

#include <algorithm>

#include "wick/tensor/ops/linear.h"

namespace wick {

ScoreHead::ScoreHead(const ScoreHeadSpec& spec, WeightReader& weights, int64_t hidden_size) : activation_(spec.activation) {
  if (weights.has("cls.weight")) {
    dense_ = weights.matrix("cls", hidden_size, hidden_size);
    dense_bias_ = weights.find_vector("cls.bias", hidden_size);
  }
  if (spec.norm) norm_.emplace(*spec.norm, weights, "", hidden_size);
  const int64_t labels = std::max<int64_t>(weights.rows_of("cls.output.weight"), 1);
  output_ = weights.matrix("cls.output", labels, hidden_size);
  output_bias_ = weights.find_vector("cls.output.bias", labels);
}

Tensor ScoreHead::forward(const Tensor& hidden, const LinearParams& params) const {
  Tensor x = hidden;
  if (dense_) {
    x = biased(dense_->scaled(linear(x, dense_->weight, params)), dense_bias_);
    x = activation_ == ScoreHeadSpec::Activation::tanh ? x.tanh() : nn::Activation(nn::ActivationKind::gelu).forward(x);
  }
  if (norm_) x = (*norm_)(x);
  return biased(output_.scaled(linear(x, output_.weight, params)), output_bias_);
}

}  // namespace wick
