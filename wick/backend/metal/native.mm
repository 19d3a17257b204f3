#include "wick/backend/metal/backend.h"
#include "wick/backend/metal/metal.h"
#include "wick/device/native_driver.h"

namespace wick {

void* metal_device(const Device& device) { return driver_of<metal::Driver>(device, DeviceKind::metal).device().handle(); }

void* metal_queue(const Device& device) { return driver_of<metal::Driver>(device, DeviceKind::metal).device().queue(); }

MetalMemory metal_memory(const Buffer& buffer, size_t offset) {
  const auto [block, first] = block_of<metal::Block>(buffer, DeviceKind::metal);
  return {block->handle(), block->first() + first + offset};
}

}  // namespace wick
