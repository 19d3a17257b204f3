// The ROCm backend's own interface: its error, and what code needs that calls AMD's libraries itself on memory and streams of a Device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "wick/device/device.h"
#include "wick/device/driver_error.h"
#include "wick/device/first_byte.h"

// Opaque types of hipStream_t, hipModule_t and hipFunction_t: no AMD header is needed here.
struct ihipStream_t;
struct ihipModule_t;
struct ihipModuleSymbol_t;

namespace [[gnu::visibility("default")]] wick {

// A call of HIP, or of another library of AMD's, that failed.
class RocmError final : public DriverError {
 public:
  using DriverError::DriverError;
};

// Native handles of a device of this backend. Errors: device_mismatch, "expected a rocm device, got cuda:0".

// HIP's own number of it (hipDevice_t), for hipSetDevice.
[[nodiscard]] int hip_device(const Device& device);
// Where all work of the device is queued, in order: what is queued here runs behind the ops before and before the ops after.
[[nodiscard]] ihipStream_t* hip_stream(const Device& device);

// The address (hipDeviceptr_t) of a byte of a buffer, and of the first element of a tensor; it stays as long as the tensor's storage lives.
// Errors: device_mismatch.
[[nodiscard]] void* hip_memory(const Buffer& buffer, size_t offset = 0);
template <class Tensor>
[[nodiscard]] void* hip_memory(const Tensor& tensor) {
  return hip_memory(tensor.storage()->buffer(), first_byte(tensor));
}
// Memory of a device that somebody else allocated, for Storage(device, dtype, buffer); `owner` keeps it until the buffer goes. Kernels read
// up to the next multiple of 16 bytes behind it. Errors: invalid_argument for an address that is not a multiple of 256.
[[nodiscard]] std::unique_ptr<Buffer> wrap_hip_memory(void* address, size_t bytes, std::shared_ptr<const void> owner);
// A device whose work is queued on a stream of somebody else's, which was made on that device and outlives it. Errors: no_device.
[[nodiscard]] Device open_on_hip_stream(int index, ihipStream_t* stream, const DeviceOptions& options = {});

// The module of a program compiled by such a device. Errors: device_mismatch.
[[nodiscard]] ihipModule_t* hip_module(const Program& program);
[[nodiscard]] ihipModuleSymbol_t* hip_function(const Program& program);

}  // namespace wick
