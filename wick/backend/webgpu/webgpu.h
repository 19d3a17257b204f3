// The WebGPU backend's own interface: what code needs that calls WebGPU itself on the device and the memory of a Device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wick/device/device.h"

// What WGPUDevice, WGPUQueue and WGPUBuffer point to: no header of WebGPU's is needed here.
struct WGPUDeviceImpl;
struct WGPUQueueImpl;
struct WGPUBufferImpl;

namespace [[gnu::visibility("default")]] wick {

// Of a device of this backend; they live as long as it is open. Errors: device_mismatch, "expected a webgpu device, got cpu".
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
// Of the first element of a tensor.
template <class Tensor>
[[nodiscard]] WebGpuMemory webgpu_memory(const Tensor& tensor) {
  const auto first = static_cast<size_t>(tensor.layout().offset() * info(tensor.dtype()).block_bytes);
  return webgpu_memory(tensor.storage()->buffer(), first);
}

}  // namespace wick
