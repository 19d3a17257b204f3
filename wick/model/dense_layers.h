// DenseLayers are what some models of vectors have after pooling: products with matrices, of which the last one's rows are the vector's
// length. Weights: dense_2, dense_3 …, as llama.cpp calls them, each with a bias where the checkpoint has one.
#pragma once

#include <optional>
#include <vector>

#include "wick/model/mixers/mixer.h"
#include "wick/model/weights.h"
#include "wick/tensor/tensor.h"

namespace wick {

class DenseLayers {
 public:
  // Errors: WeightReader::matrix's; unsupported for an activation ("<architecture>.dense_2_activation") that is not known.
  DenseLayers(WeightReader& weights, int64_t hidden_size);
  // [texts, hidden_size] -> [texts, width()]
  [[nodiscard]] Tensor forward(Tensor vectors, const LinearParams& params) const;
  [[nodiscard]] int64_t width() const noexcept { return width_; }

 private:
  struct Layer {
    ScaledMatrix matrix;
    std::optional<Tensor> bias;
    bool tanh = false;
  };
  std::vector<Layer> layers_;
  int64_t width_;
};

}  // namespace wick
