// A Device is an opened device: its handle, its queue's, and the layouts that all programs share.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "wick/backend/vulkan/physical_device.h"

namespace wick::vulkan {

class Device {
 public:
  // Errors: check's.
  explicit Device(std::unique_ptr<const PhysicalDevice> physical);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] VkDevice handle() const noexcept { return handle_; }
  [[nodiscard]] VkQueue queue() const noexcept { return queue_; }
  [[nodiscard]] const DeviceCaps& caps() const noexcept { return physical_->caps; }
  [[nodiscard]] const PhysicalDevice& physical() const noexcept { return *physical_; }
  // The descriptor set layout of a program with that many buffers, at bindings 0, 1, …
  [[nodiscard]] VkDescriptorSetLayout set_layout(size_t buffers);

 private:
  std::unique_ptr<const PhysicalDevice> physical_;
  VkDevice handle_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  std::mutex mutex_;
  std::vector<VkDescriptorSetLayout> set_layouts_;
};

}  // namespace wick::vulkan
