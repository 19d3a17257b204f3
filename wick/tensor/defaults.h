// The dtype and the device of tensors, variables and layers that name none: f32 and the CPU, but for what a DefaultsScope says.
#pragma once

#include <optional>

#include "wick/device/device.h"
#include "wick/layout/dtype.h"

namespace [[gnu::visibility("default")]] wick {

[[nodiscard]] DType default_dtype() noexcept;
[[nodiscard]] Device default_device();

struct Defaults {
  std::optional<DType> dtype = {};    // none: as it was
  std::optional<Device> device = {};  // none: as it was
};

// While it lives, what its thread makes without a dtype or a device gets these:
//
//   const DefaultsScope defaults({.dtype = DType::f64, .device = Device::best()});
//   const Tensor x = Tensor::zeros({2, 3});
//
// Scopes nest. Functions whose elements have a type (of, from_vector …) take the device alone.
class DefaultsScope {
 public:
  // Errors: invalid_argument for a quantized dtype.
  explicit DefaultsScope(Defaults defaults);
  ~DefaultsScope();
  DefaultsScope(const DefaultsScope&) = delete;
  DefaultsScope& operator=(const DefaultsScope&) = delete;

 private:
  Defaults before_;
};

}  // namespace wick
