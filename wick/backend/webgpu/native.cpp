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

std::unique_ptr<Buffer> wrap_webgpu_memory(const Device& device, WGPUBufferImpl* memory, size_t bytes, std::shared_ptr<const void> owner) {
  const std::shared_ptr<webgpu::Queue>& queue = driver_of<webgpu::Driver>(device, DeviceKind::webgpu).shared_queue();
  check_wrapped(DeviceKind::webgpu, memory, 0);
  webgpu::Owned<WGPUBufferImpl*> handle(memory, {[](WGPUBufferImpl*) {}});
  return std::make_unique<webgpu::Block>(queue, std::move(handle), bytes, std::move(owner));
}

WGPUComputePipelineImpl* webgpu_pipeline(const Program& program) {
  const auto& own = program_of<webgpu::Program>(program, DeviceKind::webgpu);
  return own.pipeline(own.read_only()).handle.get();
}

}  // namespace wick
