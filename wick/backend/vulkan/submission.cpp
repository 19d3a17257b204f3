#include "wick/backend/vulkan/submission.h"

namespace wick::vulkan {

Submission::Submission(const Device& device) : device_(device) {
  const VkCommandPoolCreateInfo pool{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                     .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
                                     .queueFamilyIndex = device.physical().queue_family};
  check(vkCreateCommandPool(device.handle(), &pool, nullptr, &pool_), "vkCreateCommandPool");
  const VkCommandBufferAllocateInfo commands{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                             .commandPool = pool_,
                                             .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                             .commandBufferCount = 1};
  check(vkAllocateCommandBuffers(device.handle(), &commands, &commands_), "vkAllocateCommandBuffers");
  const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kMaxBuffers};
  const VkDescriptorPoolCreateInfo descriptors{
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = kMaxLaunches, .poolSizeCount = 1, .pPoolSizes = &size};
  check(vkCreateDescriptorPool(device.handle(), &descriptors, nullptr, &descriptors_), "vkCreateDescriptorPool");
}

Submission::~Submission() {
  vkDestroyDescriptorPool(device_.handle(), descriptors_, nullptr);
  vkDestroyCommandPool(device_.handle(), pool_, nullptr);
}

void Submission::begin(uint64_t serial) {
  serial_ = serial;
  launches_ = buffers_ = 0;
  bound = VK_NULL_HANDLE;
  check(vkResetDescriptorPool(device_.handle(), descriptors_, 0), "vkResetDescriptorPool");
  check(vkResetCommandPool(device_.handle(), pool_, 0), "vkResetCommandPool");
  const VkCommandBufferBeginInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  check(vkBeginCommandBuffer(commands_, &info), "vkBeginCommandBuffer");
}

VkDescriptorSet Submission::add_launch(VkDescriptorSetLayout layout, size_t buffers) {
  ++launches_;
  buffers_ += buffers;
  VkDescriptorSet set = VK_NULL_HANDLE;
  const VkDescriptorSetAllocateInfo info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                         .descriptorPool = descriptors_,
                                         .descriptorSetCount = 1,
                                         .pSetLayouts = &layout};
  if (buffers > 0) check(vkAllocateDescriptorSets(device_.handle(), &info, &set), "vkAllocateDescriptorSets");
  return set;
}

}  // namespace wick::vulkan
