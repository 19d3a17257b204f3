// The gradient of a linear function f is its adjoint: where w weighs f's result, the derivative by x[i] is w · f(e_i).
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <vector>

#include "wick/tensor/backward.h"
#include "wick/tensor/variable.h"

namespace wick {

// Whole numbers of both signs, none like its neighbours.
inline std::vector<double> uneven_numbers(int64_t count) {
  std::vector<double> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>((i * 7 + 3) % 23) - 11;
  return values;
}

inline Tensor uneven(const Shape& shape) { return Tensor::from_vector(uneven_numbers(shape.elements()), shape, Device::cpu()); }

inline void expect_adjoint(const Shape& shape, const std::function<Tensor(const Tensor&)>& f) {
  const Device cpu = Device::cpu();
  const Var x = Var::from_tensor(uneven(shape));
  const Tensor result = f(x);
  const Tensor weights = uneven(result.shape());
  const std::optional<Tensor> gradient = backward((result * weights).sum_all()).get(x);
  ASSERT_TRUE(gradient.has_value());
  ASSERT_EQ(gradient->shape(), shape);
  std::vector<double> expected;
  const std::vector<double> w = weights.to_vector<double>();
  for (int64_t i = 0; i < shape.elements(); ++i) {
    std::vector<double> basis(static_cast<size_t>(shape.elements()));
    basis[static_cast<size_t>(i)] = 1;
    const std::vector<double> y = f(Tensor::from_vector(basis, shape, cpu)).to_vector<double>();
    expected.push_back(std::inner_product(y.begin(), y.end(), w.begin(), 0.0));
  }
  EXPECT_EQ(gradient->to_vector<double>(), expected);
}

}  // namespace wick
