// The native handles: calls of Vulkan itself on a Device's memory and queue, between ops.
#include <gmock/gmock.h>

#include <bit>
#include <memory>

#include "unit/message_of.h"
#include "unit/vulkan_device.h"
#include "wick/backend/vulkan/api.h"
#include "wick/backend/vulkan/vulkan.h"
#include "wick/tensor/tensor.h"

namespace wick::vulkan {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

class VulkanNative : public OnVulkan {
 protected:
  // Records commands, hands them to the device's queue, and waits.
  template <class Record>
  void submit(const Record& record) {
    const VkDevice handle = vulkan_device(device());
    auto pool_info = typed<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    pool_info.queueFamilyIndex = vulkan_queue_family(device());
    VkCommandPool pool = VK_NULL_HANDLE;
    check(vkCreateCommandPool(handle, &pool_info, nullptr, &pool), "vkCreateCommandPool");
    auto buffer_info = typed<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
    buffer_info.commandPool = pool;
    buffer_info.commandBufferCount = 1;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    check(vkAllocateCommandBuffers(handle, &buffer_info, &commands), "vkAllocateCommandBuffers");
    const auto begin = typed<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
    check(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
    record(commands);
    check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
    auto submit_info = typed<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
    submit_info.commandBufferCount = 1;
    submit_info.pCommandBuffers = &commands;
    check(vkQueueSubmit(vulkan_queue(device()), 1, &submit_info, VK_NULL_HANDLE), "vkQueueSubmit");
    check(vkQueueWaitIdle(vulkan_queue(device())), "vkQueueWaitIdle");
    vkDestroyCommandPool(handle, pool, nullptr);
  }
};

// A buffer that this test makes, as another library would.
struct OwnBuffer {
  explicit OwnBuffer(VkDevice made_on) : device(made_on) {
    auto info = typed<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
    info.size = 4096;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    check(vkCreateBuffer(device, &info, nullptr, &buffer), "vkCreateBuffer");
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(device, buffer, &needs);
    auto piece = typed<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
    piece.allocationSize = needs.size;
    piece.memoryTypeIndex = static_cast<uint32_t>(std::countr_zero(needs.memoryTypeBits));
    check(vkAllocateMemory(device, &piece, nullptr, &memory), "vkAllocateMemory");
    check(vkBindBufferMemory(device, buffer, memory, 0), "vkBindBufferMemory");
  }
  ~OwnBuffer() {
    vkDestroyBuffer(device, buffer, nullptr);
    vkFreeMemory(device, memory, nullptr);
  }
  OwnBuffer(const OwnBuffer&) = delete;
  OwnBuffer& operator=(const OwnBuffer&) = delete;

  VkDevice device;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
};

TEST_P(VulkanNative, HandlesAreThoseOfTheDevice) {
  EXPECT_NE(vulkan_instance(device()), nullptr);
  VkPhysicalDeviceProperties properties;
  vkGetPhysicalDeviceProperties(vulkan_physical_device(device()), &properties);
  EXPECT_EQ(properties.deviceName, runtime().caps().name);
  const Program& program = runtime().program({"multiply_add", {}}, multiply_add);
  EXPECT_NE(vulkan_pipeline(program), nullptr);
  EXPECT_NE(vulkan_pipeline_layout(program), nullptr);
}

TEST_P(VulkanNative, CommandsOfOnesOwnComeBetweenOps) {
  const Tensor x = Tensor::ones({8}, DType::f32, device()) + 1.0;
  const VulkanMemory memory = vulkan_memory(x.narrow(0, 3, 2));
  EXPECT_EQ(memory.offset, vulkan_memory(x).offset + 12);
  queue().flush();
  submit([&](VkCommandBuffer commands) { vkCmdFillBuffer(commands, memory.buffer, memory.offset, 8, std::bit_cast<uint32_t>(7.0F)); });
  EXPECT_THAT((x * x).to_vector<float>(), ElementsAre(4, 4, 4, 49, 49, 4, 4, 4));
}

TEST_P(VulkanNative, MemoryOfSomebodyElseIsUsedWhereItLies) {
  auto own = std::make_shared<OwnBuffer>(vulkan_device(device()));
  const std::weak_ptr<OwnBuffer> watched = own;
  {
    const Tensor wrapped(std::make_shared<Storage>(device(), DType::f32, wrap_vulkan_memory(device(), {own->buffer, 256}, 1024, own)),
                         Layout(Shape({256})));
    EXPECT_EQ(vulkan_memory(wrapped).buffer, own->buffer);
    EXPECT_EQ(vulkan_memory(wrapped).offset, 256);
    own.reset();
    wrapped.zero_set();
    EXPECT_THAT((wrapped + 2.0).to_vector<float>(), Each(2));
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_TRUE(watched.expired());
}

TEST_P(VulkanNative, WhatIsNotOfTheDeviceIsRefused) {
  EXPECT_EQ(
      error_of([&] { static_cast<void>(wrap_vulkan_memory(device(), {vulkan_memory(*allocate(16)).buffer, 4}, 16, nullptr)); }).what(),
      std::string("memory of a vulkan device at 0x4: its place is not a multiple of 256"));
  EXPECT_EQ(error_of([&] { static_cast<void>(wrap_vulkan_memory(device(), {}, 16, nullptr)); }).code(), ErrorCode::invalid_argument);
  const Error error = error_of([] { static_cast<void>(vulkan_memory(*wrap_host_memory(nullptr, 16, nullptr))); });
  EXPECT_EQ(error.code(), ErrorCode::device_mismatch);
  EXPECT_STREQ(error.what(), "a buffer of 16 bytes is not memory of a vulkan device");
}

TEST(VulkanError, HasTheCallAndItsResult) {
  try {
    check(VK_ERROR_TOO_MANY_OBJECTS, "vkAllocateMemory");
    FAIL() << "nothing was thrown";
  } catch (const VulkanError& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_EQ(error.call(), "vkAllocateMemory");
    EXPECT_EQ(error.status(), VK_ERROR_TOO_MANY_OBJECTS);
    EXPECT_EQ(error.status_name(), "VK_ERROR_TOO_MANY_OBJECTS");
  }
}

INSTANTIATE_TEST_SUITE_P(, VulkanNative, testing::Values("plain", "native"), variant_name);

}  // namespace
}  // namespace wick::vulkan
