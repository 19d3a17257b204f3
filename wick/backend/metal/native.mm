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

std::unique_ptr<Buffer> wrap_metal_memory(const Device& device, MetalMemory memory, size_t bytes, std::shared_ptr<const void> owner) {
  const std::shared_ptr<metal::Queue>& queue = driver_of<metal::Driver>(device, DeviceKind::metal).shared_queue();
  check_wrapped(DeviceKind::metal, memory.buffer, memory.offset);
  auto handle = metal::Owned<id<MTLBuffer>>::retained(static_cast<id<MTLBuffer>>(memory.buffer));
  return std::make_unique<metal::Block>(queue, std::move(handle), memory.offset, bytes, std::move(owner));
}

void* metal_pipeline(const Program& program) { return program_of<metal::Program>(program, DeviceKind::metal).pipeline(); }

}  // namespace wick
