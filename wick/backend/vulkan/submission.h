// A Submission is a command buffer and the descriptor sets of its commands; when the device is done with them it is used again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wick/backend/vulkan/device.h"

namespace wick::vulkan {

class Submission {
 public:
  explicit Submission(const Device& device);
  ~Submission();
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;

  static constexpr uint32_t kMaxLaunches = 128, kMaxBuffers = kMaxBuffersOfALaunch;

  // Empties it and begins to record.
  void begin(uint64_t serial);
  [[nodiscard]] VkCommandBuffer commands() const noexcept { return commands_; }
  [[nodiscard]] uint64_t serial() const noexcept { return serial_; }
  // Whether it takes one more launch with so many buffers.
  [[nodiscard]] bool takes(size_t buffers) const noexcept { return launches_ < kMaxLaunches && buffers_ + buffers <= kMaxBuffers; }
  // For such a launch; VK_NULL_HANDLE for one without buffers.
  [[nodiscard]] VkDescriptorSet add_launch(VkDescriptorSetLayout layout, size_t buffers);

  VkPipeline bound = VK_NULL_HANDLE;

 private:
  const Device& device_;
  uint64_t serial_ = 0;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkDescriptorPool descriptors_ = VK_NULL_HANDLE;
  size_t launches_ = 0, buffers_ = 0;
};

}  // namespace wick::vulkan
