// What tests of tensors on the CPU say often.
#pragma once

#include <vector>

#include "wick/device/device.h"
#include "wick/tensor/backward.h"
#include "wick/tensor/tensor.h"

namespace wick {

inline const Device kCpu = Device::cpu();

// 0, 1, 2, … in that shape.
[[nodiscard]] inline Tensor count(const Shape& shape, DType dtype = DType::f32) {
  return Tensor::arange(0, static_cast<double>(shape.elements()), dtype, kCpu).reshape(shape);
}

[[nodiscard]] inline std::vector<double> values_of(const Tensor& tensor) { return tensor.to_vector<double>(); }
[[nodiscard]] inline std::vector<double> gradient_of(const Tensor& root, const Tensor& of) { return values_of(*backward(root).get(of)); }

}  // namespace wick
