#include "wick/backend/metal/backend.h"
#include "wick/backend/metal/metal.h"
#include "wick/base/fail.h"
#include "wick/device/kernel_runtime.h"

namespace wick {
namespace {

metal::Device& opened_metal_device(const Device& device) {
  auto* const runtime = dynamic_cast<KernelRuntime*>(&device.as_metal().runtime());
  auto* const driver = runtime == nullptr ? nullptr : dynamic_cast<metal::Driver*>(&runtime->driver());
  if (driver == nullptr) fail(ErrorCode::device_mismatch, "{} is not driven by the metal backend", device.location().to_string());
  return driver->device();
}

}  // namespace

void* metal_device(const Device& device) { return opened_metal_device(device).handle(); }

void* metal_queue(const Device& device) { return opened_metal_device(device).queue(); }

MetalMemory metal_memory(const Buffer& buffer, size_t offset) {
  const auto [place, first] = buffer.place();
  const auto* const block = dynamic_cast<const metal::Block*>(place);
  if (block == nullptr) fail(ErrorCode::device_mismatch, "a buffer of {} bytes is not memory of a metal device", buffer.bytes());
  return {block->handle(), block->first() + first + offset};
}

}  // namespace wick
