#include "wick/backend/webgpu/backend.h"
#include "wick/backend/webgpu/webgpu.h"
#include "wick/device/native_driver.h"

namespace wick {

WGPUDeviceImpl* webgpu_device(const Device& device) { return driver_of<webgpu::Driver>(device, DeviceKind::webgpu).device().handle(); }

WGPUQueueImpl* webgpu_queue(const Device& device) { return driver_of<webgpu::Driver>(device, DeviceKind::webgpu).device().queue(); }

WebGpuMemory webgpu_memory(const Buffer& buffer, size_t offset) {
  const auto [block, first] = block_of<webgpu::Block>(buffer, DeviceKind::webgpu);
  return {block->handle(), first + offset};
}

}  // namespace wick
