#include "wick/backend/vulkan/device.h"

#include <utility>

namespace wick::vulkan {

Device::Device(std::unique_ptr<const PhysicalDevice> physical) : physical_(std::move(physical)) {
  const float priority = 1;
  auto queue = typed<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueFamilyIndex = physical_->queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  auto info = typed<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  info.pNext = &physical_->features.wanted();
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(physical_->features.extensions().size());
  info.ppEnabledExtensionNames = physical_->features.extensions().data();
  check(vkCreateDevice(physical_->handle, &info, nullptr, &handle_), "vkCreateDevice");
  vkGetDeviceQueue(handle_, physical_->queue_family, 0, &queue_);
}

Device::~Device() {
  for (const VkDescriptorSetLayout layout : set_layouts_) vkDestroyDescriptorSetLayout(handle_, layout, nullptr);
  vkDestroyDevice(handle_, nullptr);
}

VkDescriptorSetLayout Device::set_layout(size_t buffers) {
  const std::lock_guard lock(mutex_);
  while (set_layouts_.size() <= buffers) {
    std::vector<VkDescriptorSetLayoutBinding> bindings;
    bindings.reserve(set_layouts_.size());
    for (uint32_t i = 0; i < set_layouts_.size(); ++i) {
      bindings.push_back({i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
    }
    auto info = typed<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
    info.bindingCount = static_cast<uint32_t>(bindings.size());
    info.pBindings = bindings.data();
    VkDescriptorSetLayout layout = VK_NULL_HANDLE;
    check(vkCreateDescriptorSetLayout(handle_, &info, nullptr, &layout), "vkCreateDescriptorSetLayout");
    set_layouts_.push_back(layout);
  }
  return set_layouts_[buffers];
}

}  // namespace wick::vulkan
