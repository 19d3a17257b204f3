// What PyTorch computed for the tests of nn: tests/data/nn/values.json, written by tests/data/nn/make.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "shared_data.h"
#include "wick/tensor/tensor.h"

namespace wick {

[[nodiscard]] inline const nlohmann::json& nn_values() {
  static const nlohmann::json values = [] {
    std::ifstream file(source_file("tests/data/nn/values.json"));
    return nlohmann::json::parse(file);
  }();
  return values;
}

[[nodiscard]] inline Tensor tensor_of(const nlohmann::json& entry, DType dtype = DType::f64) {
  const auto dims = entry["shape"].get<std::vector<int64_t>>();
  return Tensor::from_vector(entry["values"].get<std::vector<double>>(), Shape(std::span<const int64_t>(dims)), Device::cpu())
      .to_dtype(dtype);
}

// Element by element, within tolerance · (1 + |expected|).
inline void expect_close(const Tensor& actual, const nlohmann::json& expected, double tolerance, const std::string& what = {}) {
  ASSERT_EQ(std::vector<int64_t>(actual.dims().begin(), actual.dims().end()), expected["shape"].get<std::vector<int64_t>>()) << what;
  const std::vector<double> found = actual.to_vector<double>();
  const auto wanted = expected["values"].get<std::vector<double>>();
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_LE(std::abs(found[i] - wanted[i]), tolerance * (1 + std::abs(wanted[i])))
        << what << " element " << i << ": " << found[i] << ", expected " << wanted[i];
  }
}

}  // namespace wick
