#include "wick/backend/vulkan/device.h"

#include <utility>

namespace wick::vulkan {

Device::Device(std::unique_ptr<const PhysicalDevice> physical) : physical_(std::move(physical)) {
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                      .queueFamilyIndex = physical_->queue_family,
                                      .queueCount = 1,
                                      .pQueuePriorities = &priority};
  const std::vector<const char*>& extensions = physical_->features.extensions();
  const VkDeviceCreateInfo info{.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                .pNext = &physical_->features.wanted(),
                                .queueCreateInfoCount = 1,
                                .pQueueCreateInfos = &queue,
                                .enabledExtensionCount = static_cast<uint32_t>(extensions.size()),
                                .ppEnabledExtensionNames = extensions.data()};
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
    const auto count = static_cast<uint32_t>(set_layouts_.size());
    std::vector<VkDescriptorSetLayoutBinding> bindings(count,
                                                       {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
    for (uint32_t i = 0; i < count; ++i) bindings[i].binding = i;
    const VkDescriptorSetLayoutCreateInfo info{
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = count, .pBindings = bindings.data()};
    VkDescriptorSetLayout layout = VK_NULL_HANDLE;
    check(vkCreateDescriptorSetLayout(handle_, &info, nullptr, &layout), "vkCreateDescriptorSetLayout");
    set_layouts_.push_back(layout);
  }
  return set_layouts_[buffers];
}

}  // namespace wick::vulkan
