// A Var is a tensor that gradients are wanted of: what is computed from it is tracked, and `backward` finds its gradient.
#pragma once

#include <optional>

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {

class Var {
 public:
  // Without a dtype and a device: as Tensor's functions.
  // A copy of the elements, contiguous, in memory of its own. Errors: unsupported for a dtype that is not a float.
  [[nodiscard]] static Var from_tensor(const Tensor& tensor);
  [[nodiscard]] static Var zeros(const Extents& shape, DType dtype = default_dtype(), const Device& device = default_device()) {
    return from_tensor(Tensor::zeros(shape, dtype, device));
  }
  [[nodiscard]] static Var ones(const Extents& shape, DType dtype = default_dtype(), const Device& device = default_device()) {
    return from_tensor(Tensor::ones(shape, dtype, device));
  }
  [[nodiscard]] static Var rand(double low, double high, const Extents& shape, DType dtype = default_dtype(),
                                const Device& device = default_device()) {
    return from_tensor(Tensor::rand(low, high, shape, dtype, device));
  }
  [[nodiscard]] static Var randn(double mean, double deviation, const Extents& shape, DType dtype = default_dtype(),
                                 const Device& device = default_device()) {
    return from_tensor(Tensor::randn(mean, deviation, shape, dtype, device));
  }
  template <class T>
  [[nodiscard]] static Var of(const Nested<T>& values, const Device& device = default_device()) {
    return from_tensor(Tensor::of<T>(values, device));
  }
  template <class T>
  [[nodiscard]] static Var from_vector(const std::vector<T>& values, const Extents& shape, const Device& device = default_device()) {
    return from_tensor(Tensor::from_vector(values, shape, device));
  }

  // The variable whose tensor this is, with the same elements; none if the tensor is a constant or was computed.
  [[nodiscard]] static std::optional<Var> behind(const Tensor& tensor);

  // The tracked tensor. It stays the same one when the variable is set.
  [[nodiscard]] const Tensor& tensor() const noexcept { return tensor_; }
  operator const Tensor&() const noexcept { return tensor_; }  // NOLINT: a variable is a tensor
  const Tensor* operator->() const noexcept { return &tensor_; }
  // The elements alone, not tracked, in the same memory.
  [[nodiscard]] Tensor as_detached_tensor() const { return tensor_.detach(); }

  // Overwrites the elements. Errors: shape_mismatch, dtype_mismatch; device_mismatch.
  void set(const Tensor& value) const;

 private:
  explicit Var(Tensor tensor) : tensor_(std::move(tensor)) {}

  Tensor tensor_;
};

}  // namespace wick
