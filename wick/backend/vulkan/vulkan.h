// The Vulkan backend's own interface: its error, and what code needs that calls Vulkan itself on the device and the memory of a Device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "wick/device/device.h"
#include "wick/device/driver_error.h"
#include "wick/device/first_byte.h"

// Opaque types of VkInstance and others: no Vulkan header is needed here.
struct VkInstance_T;
struct VkPhysicalDevice_T;
struct VkDevice_T;
struct VkQueue_T;
struct VkBuffer_T;
struct VkPipeline_T;
struct VkPipelineLayout_T;

namespace [[gnu::visibility("default")]] wick {

// A call of Vulkan that failed.
class VulkanError final : public DriverError {
 public:
  using DriverError::DriverError;
};

// Native handles of a device of this backend, valid while it is open. Errors: device_mismatch, "expected a vulkan device, got cpu".
[[nodiscard]] VkInstance_T* vulkan_instance(const Device& device);
[[nodiscard]] VkPhysicalDevice_T* vulkan_physical_device(const Device& device);
[[nodiscard]] VkDevice_T* vulkan_device(const Device& device);
// Ops reach it when Device::synchronize or Queue::flush hands them over: call one of them before work of your own, which then sees what
// they wrote. No other thread may use the device meanwhile, as Vulkan asks of a queue.
[[nodiscard]] VkQueue_T* vulkan_queue(const Device& device);
[[nodiscard]] uint32_t vulkan_queue_family(const Device& device);

// A VkBuffer, and the place in it of a byte of a Buffer. It stays as long as the Buffer lives. Usages: storage, transfer from and to.
struct VulkanMemory {
  VkBuffer_T* buffer = nullptr;
  uint64_t offset = 0;
};
// Errors: device_mismatch.
[[nodiscard]] VulkanMemory vulkan_memory(const Buffer& buffer, size_t offset = 0);
// Buffer and offset of a tensor's first element.
template <class Tensor>
[[nodiscard]] VulkanMemory vulkan_memory(const Tensor& tensor) {
  return vulkan_memory(tensor.storage()->buffer(), first_byte(tensor));
}
// Bytes of a VkBuffer of vulkan_device(device) with these usages that somebody else made, for Storage(device, dtype, buffer); `owner` keeps
// it until the buffer goes. Kernels read up to the next multiple of 16 bytes behind it. Errors: device_mismatch; invalid_argument for an
// offset that is not a multiple of 256.
[[nodiscard]] std::unique_ptr<Buffer> wrap_vulkan_memory(const Device& device, VulkanMemory memory, size_t bytes,
                                                         std::shared_ptr<const void> owner);

// Pipeline of a program compiled by such a device; its layout: one set of storage buffers, and push constants. Errors: device_mismatch.
[[nodiscard]] VkPipeline_T* vulkan_pipeline(const Program& program);
[[nodiscard]] VkPipelineLayout_T* vulkan_pipeline_layout(const Program& program);

}  // namespace wick
