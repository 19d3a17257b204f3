// The Metal backend's own interface: what code needs that calls Metal itself on the device and the memory of a Device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wick/device/device.h"

namespace [[gnu::visibility("default")]] wick {

// Objects of Objective-C as C++ knows them: `(__bridge id<MTLDevice>)metal_device(device)` in Objective-C++ (without ARC a cast will do),
// `static_cast<MTL::Device*>(metal_device(device))` with metal-cpp. No reference is given away: retain what is to live longer.

// The id<MTLDevice> of a device of this backend, and its id<MTLCommandQueue>; they live as long as it is open. Errors: device_mismatch,
// "expected a metal device, got cpu".
[[nodiscard]] void* metal_device(const Device& device);
// Ops reach it when Device::synchronize or Queue::flush hands them over: call one of them before work of your own.
[[nodiscard]] void* metal_queue(const Device& device);

// An id<MTLBuffer>, and the place in it of a byte of a Buffer. It stays as long as the Buffer lives. Storage mode: shared.
struct MetalMemory {
  void* buffer = nullptr;
  uint64_t offset = 0;
};
// Errors: device_mismatch.
[[nodiscard]] MetalMemory metal_memory(const Buffer& buffer, size_t offset = 0);
// Of the first element of a tensor.
template <class Tensor>
[[nodiscard]] MetalMemory metal_memory(const Tensor& tensor) {
  const auto first = static_cast<size_t>(tensor.layout().offset() * info(tensor.dtype()).block_bytes);
  return metal_memory(tensor.storage()->buffer(), first);
}

}  // namespace wick
