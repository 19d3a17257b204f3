// gradcheck compares the gradients of an expression with finite differences, in f64: first order, and second order by the same check of
// the gradient itself.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "wick/tensor/backward.h"
#include "wick/tensor/tensor.h"
#include "wick/tensor/variable.h"

namespace wick {

using Expression = std::function<Tensor(const std::vector<Tensor>&)>;

// Different for every element and never 0, so that no error cancels.
[[nodiscard]] inline Tensor check_weights(const Shape& shape, double seed) {
  std::vector<double> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.5 + 0.4 * std::sin(1.7 * static_cast<double>(i) + seed);
  return Tensor::from_vector(values, shape, Device::cpu());
}

namespace gradcheck_detail {

// Σ weights · f(inputs)
inline Tensor weighted(const Expression& f, const std::vector<Tensor>& inputs, double seed) {
  const Tensor result = f(inputs);
  return (result * check_weights(result.shape(), seed)).sum_all();
}

inline std::vector<Tensor> tensors_of(const std::vector<Var>& variables) {
  std::vector<Tensor> tensors;
  for (const Var& variable : variables) tensors.push_back(variable.tensor());
  return tensors;
}

// The gradients with respect to all inputs, concatenated; tracked for `create_graph`.
inline Tensor flat_gradients(const Expression& f, const std::vector<Tensor>& inputs, double seed, bool create_graph) {
  const Tensor loss = weighted(f, inputs, seed);
  const GradStore store = loss.is_tracked() ? backward(loss, {.create_graph = create_graph}) : GradStore();
  std::vector<Tensor> parts;
  for (const Tensor& input : inputs) parts.push_back(store.get(input).value_or(input.detach().zeros_like()).flatten_all());
  return Tensor::cat(parts, 0);
}

// Central differences err by h² f''' / 6 and by about u |f| / h: with h = 1e-5 both are near 1e-10.
inline std::string compare_with_differences(const Expression& f, std::vector<std::vector<double>> values, const std::vector<Shape>& shapes,
                                            const std::vector<double>& gradients, double seed) {
  constexpr double kStep = 1e-5;
  const auto value_at = [&] {
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < values.size(); ++i) inputs.push_back(Tensor::from_vector(values[i], shapes[i], Device::cpu()));
    return weighted(f, inputs, seed).item();
  };
  size_t at = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = 0; j < values[i].size(); ++j, ++at) {
      const double middle = values[i][j];
      values[i][j] = middle + kStep;
      const double above = value_at();
      values[i][j] = middle - kStep;
      const double below = value_at();
      values[i][j] = middle;
      const double slope = (above - below) / (2 * kStep);
      const double allowed = 1e-7 * (1 + std::fabs(slope) + std::fabs(above));
      if (std::fabs(slope - gradients[at]) <= allowed) continue;
      return fmt::format("input {} element {}: gradient {}, by differences {}", i, j, gradients[at], slope);
    }
  }
  return {};
}

}  // namespace gradcheck_detail

// Empty, or what disagrees.
[[nodiscard]] inline std::string gradcheck(const Expression& f, const std::vector<Tensor>& at, bool second_order = true) {
  using namespace gradcheck_detail;
  std::vector<Var> variables;
  std::vector<std::vector<double>> values;
  std::vector<Shape> shapes;
  for (const Tensor& input : at) {
    variables.push_back(Var::from_tensor(input));
    values.push_back(input.to_vector<double>());
    shapes.push_back(input.shape());
  }
  const std::vector<Tensor> inputs = tensors_of(variables);
  const std::string first = compare_with_differences(f, values, shapes, flat_gradients(f, inputs, 0, false).to_vector<double>(), 0);
  if (!first.empty()) return "first order: " + first;
  if (!second_order) return {};
  // The gradient as an expression: inside, every call makes variables of its own where it is given plain numbers.
  const Expression gradient = [&f](const std::vector<Tensor>& plain) {
    std::vector<Tensor> tracked;
    for (const Tensor& x : plain) tracked.push_back(x.is_tracked() ? x : Var::from_tensor(x).tensor());
    return flat_gradients(f, tracked, 0, true);
  };
  const std::vector<double> seconds = flat_gradients(gradient, inputs, 1, false).to_vector<double>();
  const std::string second = compare_with_differences(gradient, values, shapes, seconds, 1);
  return second.empty() ? std::string() : "second order: " + second;
}

}  // namespace wick
