// A NamedSource gives tensors from a map of names.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/nn/tensor_source.h"

namespace wick::nn {

// On the request's device, in its dtype where it names one.
[[nodiscard]] inline Tensor as_requested(const Tensor& tensor, const TensorRequest& request) {
  return tensor.to_device(request.device).to_dtype(request.dtype.value_or(tensor.dtype()));
}

class NamedSource final : public TensorSource {
 public:
  // `description` is what messages call it: a path, "tensors".
  NamedSource(std::string description, std::map<std::string, Tensor, std::less<>> tensors)
      : description_(std::move(description)), tensors_(std::move(tensors)) {}

  [[nodiscard]] std::string describe() const override { return description_; }
  [[nodiscard]] std::vector<std::string> names() const override {
    std::vector<std::string> names;
    names.reserve(tensors_.size());
    for (const auto& [name, tensor] : tensors_) names.push_back(name);
    return names;
  }
  [[nodiscard]] bool contains(std::string_view name) const override { return tensors_.contains(name); }
  [[nodiscard]] Tensor load(const TensorRequest& request) const override {
    return as_requested(tensors_.find(request.name)->second, request);
  }

 private:
  std::string description_;
  std::map<std::string, Tensor, std::less<>> tensors_;
};

}  // namespace wick::nn
