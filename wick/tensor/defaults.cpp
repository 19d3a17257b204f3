#include "wick/tensor/defaults.h"

#include <utility>

#include "wick/base/fail.h"

namespace wick {
namespace {

// Of this thread. An empty optional means f32 and the CPU.
thread_local Defaults defaults;

}  // namespace

DType default_dtype() noexcept { return defaults.dtype.value_or(DType::f32); }

Device default_device() { return defaults.device ? *defaults.device : Device::cpu(); }

DefaultsScope::DefaultsScope(Defaults wanted) : before_(defaults) {
  if (wanted.dtype && is_quantized(*wanted.dtype)) {
    fail(ErrorCode::invalid_argument, "DefaultsScope: dtype is {}; allowed: dtypes of single numbers", to_string(*wanted.dtype));
  }
  if (wanted.dtype) defaults.dtype = wanted.dtype;
  if (wanted.device) defaults.device = std::move(wanted.device);
}

DefaultsScope::~DefaultsScope() { defaults = std::move(before_); }

}  // namespace wick
