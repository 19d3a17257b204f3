// Sequential chains modules; Func makes a module of any function, Identity one of none.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "wick/nn/module.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

class Identity final : public Module {
 public:
  [[nodiscard]] Tensor forward(const Tensor& x) const override { return x; }
};

class Func final : public Module {
 public:
  explicit Func(std::function<Tensor(const Tensor&)> function)
      : function_([f = std::move(function)](const Tensor& x, Mode /*mode*/) { return f(x); }) {}
  // A function that differs in training.
  explicit Func(std::function<Tensor(const Tensor&, Mode)> function) : function_(std::move(function)) {}

  [[nodiscard]] Tensor forward(const Tensor& x) const override { return function_(x, Mode::evaluate); }
  [[nodiscard]] Tensor forward_t(const Tensor& x, Mode mode) const override { return function_(x, mode); }

 private:
  std::function<Tensor(const Tensor&, Mode)> function_;
};

class Sequential final : public Module {
 public:
  template <std::derived_from<Module> Layer>
  Sequential& add(Layer layer) {
    layers_.push_back(std::make_unique<Layer>(std::move(layer)));
    return *this;
  }
  template <std::invocable<const Tensor&> Function>
    requires(!std::derived_from<Function, Module>)
  Sequential& add(Function function) {
    return add(Func(std::function<Tensor(const Tensor&)>(std::move(function))));
  }

  [[nodiscard]] size_t size() const noexcept { return layers_.size(); }
  [[nodiscard]] bool empty() const noexcept { return layers_.empty(); }
  [[nodiscard]] Tensor forward(const Tensor& x) const override { return forward_t(x, Mode::evaluate); }
  [[nodiscard]] Tensor forward_t(const Tensor& x, Mode mode) const override;
  // The layers' tensors, named by the layers' numbers: "0.weight".
  void visit_tensors(const TensorVisitor& visit) const override;
  // Outputs of all layers, in order.
  [[nodiscard]] std::vector<Tensor> forward_all(const Tensor& x) const;

 private:
  std::vector<std::unique_ptr<const Module>> layers_;
};

}  // namespace nn
}  // namespace wick
