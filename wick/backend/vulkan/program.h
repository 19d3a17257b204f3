// A Program of Vulkan is a compute pipeline and the layout of what it is given.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>

#include "wick/backend/vulkan/api.h"
#include "wick/device/program.h"

namespace wick::vulkan {

class Queue;

class Program final : public wick::Program {
 public:
  // nullptr where the driver refuses the binary.
  [[nodiscard]] static std::shared_ptr<const Program> load(std::shared_ptr<Queue> queue, ir::Kernel kernel,
                                                           std::span<const std::byte> binary);
  // A program without a pipeline yet; load() creates it.
  Program(std::shared_ptr<Queue> queue, ir::Kernel kernel) : wick::Program(std::move(kernel)), queue_(std::move(queue)) {}
  ~Program() override;

  [[nodiscard]] VkPipeline pipeline() const noexcept { return pipeline_; }
  [[nodiscard]] VkPipelineLayout layout() const noexcept { return layout_; }
  [[nodiscard]] VkDescriptorSetLayout set_layout() const noexcept { return set_layout_; }
  // The last submission that runs it.
  mutable std::atomic<uint64_t> last_use = 0;

 private:
  [[nodiscard]] bool make_pipeline(std::span<const std::byte> binary);

  std::shared_ptr<Queue> queue_;
  VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;  // the device's
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipeline pipeline_ = VK_NULL_HANDLE;
};

}  // namespace wick::vulkan
