#include "wick/backend/vulkan/driver.h"
#include "wick/backend/vulkan/instance.h"
#include "wick/backend/vulkan/vulkan.h"
#include "wick/device/native_driver.h"

namespace wick {
namespace {

constexpr DeviceKind kKind = DeviceKind::vulkan;

vulkan::Device& opened(const Device& device) { return driver_of<vulkan::Driver>(device, kKind).device(); }

}  // namespace

VkInstance_T* vulkan_instance(const Device& device) {
  static_cast<void>(opened(device));
  return vulkan::instance().handle;
}
VkPhysicalDevice_T* vulkan_physical_device(const Device& device) { return opened(device).physical().handle; }
VkDevice_T* vulkan_device(const Device& device) { return opened(device).handle(); }
VkQueue_T* vulkan_queue(const Device& device) { return opened(device).queue(); }
uint32_t vulkan_queue_family(const Device& device) { return opened(device).physical().queue_family; }

VulkanMemory vulkan_memory(const Buffer& buffer, size_t offset) {
  const auto [block, first] = block_of<vulkan::Block>(buffer, kKind);
  return {block->buffer(), block->offset() + first + offset};
}

std::unique_ptr<Buffer> wrap_vulkan_memory(const Device& device, VulkanMemory memory, size_t bytes, std::shared_ptr<const void> owner) {
  check_wrapped(kKind, memory.buffer, memory.offset);
  const std::shared_ptr<vulkan::Queue> queue = driver_of<vulkan::Driver>(device, kKind).shared_queue();
  auto allocation = std::make_shared<vulkan::Allocation>(queue->device(), memory.buffer);
  return std::make_unique<vulkan::Block>(queue, std::move(allocation), memory.offset, bytes, std::move(owner));
}

VkPipeline_T* vulkan_pipeline(const Program& program) { return program_of<vulkan::Program>(program, kKind).pipeline(); }
VkPipelineLayout_T* vulkan_pipeline_layout(const Program& program) { return program_of<vulkan::Program>(program, kKind).layout(); }

}  // namespace wick
