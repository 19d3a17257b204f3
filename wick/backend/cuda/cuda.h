// The CUDA backend's own interface: its error, and what it gives to code that calls NVIDIA's libraries itself.
#pragma once

#include "wick/device/driver_error.h"

namespace [[gnu::visibility("default")]] wick {
namespace cuda {

// A call of NVIDIA's driver or of its compiler that failed.
class CudaError final : public DriverError {
 public:
  using DriverError::DriverError;
};

}  // namespace cuda
}  // namespace wick
