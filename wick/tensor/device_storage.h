// Storages that a device makes: zeros, memory as it is, numbers from the host, random numbers. (set_seed, get_current_seed and
// synchronize are functions of Device.)
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "wick/tensor/tensor.h"

namespace wick::device_storage {

[[nodiscard]] inline SharedStorage zeros(const Device& device, const Shape& shape, DType dtype) {
  return Tensor::zeros(shape, dtype, device).storage();
}
// Uninitialised. Where assertions are on, every bit is set, so that a float that is read too early is NaN.
[[nodiscard]] SharedStorage alloc_uninit(const Device& device, const Shape& shape, DType dtype);
template <class T>
[[nodiscard]] SharedStorage storage_from_slice(const Device& device, std::span<const T> values) {
  return Tensor::from_span(values, {static_cast<int64_t>(values.size())}, device).storage();
}
// Storage with the elements of nested braces, in row-major order.
template <class T>
[[nodiscard]] SharedStorage storage(const Device& device, const Nested<T>& values) {
  return Tensor::of<T>(values, device).storage();
}
// The vector's own memory where the device works in host memory: no copy.
template <class T>
[[nodiscard]] SharedStorage storage_owned(const Device& device, std::vector<T> values) {
  const auto count = static_cast<int64_t>(values.size());
  return Tensor::from_owned(std::move(values), {count}, device).storage();
}
// From the device's stream; as Tensor::rand and randn.
[[nodiscard]] inline SharedStorage rand_uniform(const Device& device, const Shape& shape, DType dtype, double low, double high) {
  return Tensor::rand(low, high, shape, dtype, device).storage();
}
[[nodiscard]] inline SharedStorage rand_normal(const Device& device, const Shape& shape, DType dtype, double mean, double deviation) {
  return Tensor::randn(mean, deviation, shape, dtype, device).storage();
}

}  // namespace wick::device_storage
