// The Metal backend's own interface: its error, and what code needs that calls Metal itself on the device and the memory of a Device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "wick/device/device.h"
#include "wick/device/driver_error.h"
#include "wick/device/first_byte.h"

namespace [[gnu::visibility("default")]] wick {

// A failed call to Metal. The next wait reports a failure during execution, as an Error with Metal's message.
class MetalError final : public DriverError {
 public:
  using DriverError::DriverError;
};

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
// Buffer and offset of a tensor's first element.
template <class Tensor>
[[nodiscard]] MetalMemory metal_memory(const Tensor& tensor) {
  return metal_memory(tensor.storage()->buffer(), first_byte(tensor));
}
// Bytes of an id<MTLBuffer> of metal_device(device) in storage mode shared that somebody else made, for Storage(device, dtype, buffer);
// `owner` keeps it until the buffer goes. It has room for the next multiple of 16 bytes. Errors: device_mismatch; invalid_argument for an
// offset that is not a multiple of 256.
[[nodiscard]] std::unique_ptr<Buffer> wrap_metal_memory(const Device& device, MetalMemory memory, size_t bytes,
                                                        std::shared_ptr<const void> owner);

// The id<MTLComputePipelineState> of a program that such a device has compiled. Errors: device_mismatch.
[[nodiscard]] void* metal_pipeline(const Program& program);

}  // namespace wick
