// One function of the elements at the same place of operands of one shape.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "wick/ir/builder.h"
#include "wick/layout/dtype.h"
#include "wick/op/device_caps.h"

namespace wick::kernels {

struct Elementwise {
  std::string name;
  std::vector<DType> inputs;
  DType output{};
  // Parameters of the function in addition to its elements: of one type, two words each for i64 and f64.
  uint32_t parameters = 0;
  ir::Type parameter_type = ir::Type::f32;
  // Numbers as load_number gives them to one that store_number takes.
  std::function<ir::Value(std::span<const ir::Value> x, std::span<const ir::Value> parameters)> function;
};

// Buffers: the inputs, y. Parameters of a StridedGrid of four dimensions with a view of each; the function's. A lane computes `width`
// elements, 1 or 4: where it is 4, all dtypes have at most four bytes, and extents, offsets and strides count quads along the last
// dimension, whose elements are neighbours in every operand.
[[nodiscard]] ir::Kernel elementwise(const Elementwise& op, uint32_t width, const DeviceCaps& caps);

}  // namespace wick::kernels
