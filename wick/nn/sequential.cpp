#include "wick/nn/sequential.h"

#include "wick/tensor/assigned.h"

#include <string>

namespace wick::nn {

Tensor Sequential::forward_t(const Tensor& x, Mode mode) const {
  check_assigned("Sequential", {{"x", x}});
  (void)x.storage();  // a tensor that was never assigned is an error for no layers too
  Tensor result = x;
  for (const auto& layer : layers_) result = layer->forward_t(result, mode);
  return result;
}

void Sequential::visit_tensors(const TensorVisitor& visit) const {
  for (size_t index = 0; index < layers_.size(); ++index) visit_inner(visit, std::to_string(index), *layers_[index]);
}

std::vector<Tensor> Sequential::forward_all(const Tensor& x) const {
  check_assigned("Sequential", {{"x", x}});
  std::vector<Tensor> results;
  for (const auto& layer : layers_) results.push_back(layer->forward(results.empty() ? x : results.back()));
  return results;
}

}  // namespace wick::nn
