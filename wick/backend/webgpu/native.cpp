#include "wick/backend/webgpu/webgpu.h"

#include "wick/backend/webgpu/backend.h"
#include "wick/base/fail.h"
#include "wick/device/kernel_runtime.h"

namespace wick {
namespace {

webgpu::Device& opened_device(const Device& device) {
  auto* const runtime = dynamic_cast<KernelRuntime*>(&device.as_webgpu().runtime());
  auto* const driver = runtime == nullptr ? nullptr : dynamic_cast<webgpu::Driver*>(&runtime->driver());
  if (driver == nullptr) fail(ErrorCode::device_mismatch, "{} is not driven by the webgpu backend", device.location().to_string());
  return driver->device();
}

}  // namespace

WGPUDeviceImpl* webgpu_device(const Device& device) { return opened_device(device).handle(); }

WGPUQueueImpl* webgpu_queue(const Device& device) { return opened_device(device).queue(); }

WebGpuMemory webgpu_memory(const Buffer& buffer, size_t offset) {
  const auto [place, first] = buffer.place();
  const auto* const block = dynamic_cast<const webgpu::Block*>(place);
  if (block == nullptr) fail(ErrorCode::device_mismatch, "a buffer of {} bytes is not memory of a webgpu device", buffer.bytes());
  return {block->handle(), first + offset};
}

}  // namespace wick
