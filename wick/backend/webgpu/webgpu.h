// The WebGPU backend's own interface: its error, and what code needs that calls WebGPU itself on the device and the memory of a Device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "wick/device/device.h"
#include "wick/device/driver_error.h"
#include "wick/device/first_byte.h"

// Opaque types of WGPUDevice, WGPUQueue and WGPUBuffer: no WebGPU header is needed here.
struct WGPUDeviceImpl;
struct WGPUQueueImpl;
struct WGPUBufferImpl;
struct WGPUComputePipelineImpl;

namespace [[gnu::visibility("default")]] wick {

// A call of WebGPU that failed, with its own words as the status's name.
class WebGpuError final : public DriverError {
 public:
  using DriverError::DriverError;
};

// Native handles of a device of this backend, valid while it is open. Errors: device_mismatch, "expected a webgpu device, got cpu".
[[nodiscard]] WGPUDeviceImpl* webgpu_device(const Device& device);
// Ops reach it when Device::synchronize or Queue::flush hands them over: call one of them before work of your own.
[[nodiscard]] WGPUQueueImpl* webgpu_queue(const Device& device);

// A buffer of WebGPU's, and the place in it of a byte of a Buffer. It stays as long as the Buffer lives. Usages: storage, copy from and to.
struct WebGpuMemory {
  WGPUBufferImpl* buffer = nullptr;
  uint64_t offset = 0;
};
// Errors: device_mismatch.
[[nodiscard]] WebGpuMemory webgpu_memory(const Buffer& buffer, size_t offset = 0);
// Buffer and offset of a tensor's first element.
template <class Tensor>
[[nodiscard]] WebGpuMemory webgpu_memory(const Tensor& tensor) {
  return webgpu_memory(tensor.storage()->buffer(), first_byte(tensor));
}
// A WGPUBuffer of webgpu_device(device) with these usages that somebody else made, for Storage(device, dtype, buffer); `owner` keeps it
// until the buffer goes. It has room for the next multiple of 256 bytes. Errors: device_mismatch; invalid_argument for nullptr.
[[nodiscard]] std::unique_ptr<Buffer> wrap_webgpu_memory(const Device& device, WGPUBufferImpl* memory, size_t bytes,
                                                         std::shared_ptr<const void> owner);

// Pipeline of a program compiled by such a device. Errors: device_mismatch.
[[nodiscard]] WGPUComputePipelineImpl* webgpu_pipeline(const Program& program);

}  // namespace wick
