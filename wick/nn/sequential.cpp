#include "wick/nn/sequential.h"

namespace wick::nn {

Tensor Sequential::forward_t(const Tensor& x, Mode mode) const {
  Tensor result = x;
  for (const auto& layer : layers_) result = layer->forward_t(result, mode);
  return result;
}

std::vector<Tensor> Sequential::forward_all(const Tensor& x) const {
  std::vector<Tensor> results;
  for (const auto& layer : layers_) results.push_back(layer->forward(results.empty() ? x : results.back()));
  return results;
}

}  // namespace wick::nn
