// A golden Case is an op on inputs whose results were computed elsewhere, with PyTorch or in exact arithmetic (tests/goldens/make).
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/device/device.h"
#include "wick/layout/dtype.h"
#include "wick/layout/shape.h"
#include "wick/tensor/tensor.h"

namespace wick::goldens {

// How to draw an input's values and view them; tests/goldens/make/golden.py defines both.
struct InputSpec {
  DType dtype = DType::f32;
  Shape shape;  // of the values beneath the view
  nlohmann::json values;
  nlohmann::json view;
};

struct Expected {
  DType dtype = DType::f32;
  Shape shape;
  std::span<const std::byte> bytes;  // row-major, in the mapped file
};

struct Case {
  std::string name;
  std::string op;
  nlohmann::json parameters;
  std::vector<InputSpec> inputs;
  std::vector<Expected> outputs;
  // One for each input; none where the input has no gradient. Empty: no gradient at all.
  std::vector<std::optional<Expected>> gradients;
  std::vector<std::optional<Expected>> second_gradients;
  int64_t terms = 0;
  bool exact = false;
};

[[nodiscard]] inline Shape shape_of(const nlohmann::json& dims) { return Shape(dims.get<std::vector<int64_t>>()); }

// All cases of tests/data/goldens, in the order of their files. The files stay mapped.
[[nodiscard]] const std::vector<Case>& all_cases();

// The elements that the generator draws for `<case>#<label>`, as bytes of that dtype.
[[nodiscard]] std::vector<std::byte> draw(std::string_view case_name, std::string_view label, const nlohmann::json& values, DType dtype,
                                          int64_t count);
// Multiples of a power of two in (-1, 1) that the dtype holds exactly: upstream gradients.
[[nodiscard]] nlohmann::json upstream_values(DType dtype);
[[nodiscard]] Tensor apply_view(Tensor tensor, const nlohmann::json& steps);

// Bytes of one element as a number; exact but for i64 beyond 2^53.
[[nodiscard]] double number_at(DType dtype, std::span<const std::byte> bytes, int64_t index);

}  // namespace wick::goldens
