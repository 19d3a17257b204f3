// The Queue records what it is given into one command buffer after another, and hands each over when it is full or somebody waits for it.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "wick/backend/vulkan/memory.h"
#include "wick/backend/vulkan/submission.h"
#include "wick/backend/vulkan/timestamps.h"
#include "wick/device/submissions/staged_queue.h"

namespace wick::vulkan {

// A timeline semaphore holds the number of the last submission that is done.
class Queue final : public StagedQueue<Block, Allocation> {
 public:
  explicit Queue(std::shared_ptr<Device> device);
  ~Queue() override;

  [[nodiscard]] std::unique_ptr<Event> record() override;

  [[nodiscard]] Device& device() const noexcept { return *device_; }
  [[nodiscard]] Timestamps& timestamps() noexcept { return timestamps_; }

 private:
  [[nodiscard]] bool has_recorded() const noexcept override { return recording_ != nullptr; }
  void submit() override;
  [[nodiscard]] uint64_t completed() override;
  void wait_for_driver(uint64_t serial) override;
  [[nodiscard]] std::shared_ptr<Allocation> make_staging(size_t bytes, Direction direction) override;
  [[nodiscard]] std::string place() const override { return "vulkan: " + device_->physical().caps.name; }
  void record_from_host(const Allocation& source, size_t offset, const Span& target) override;
  [[nodiscard]] uint64_t record_to_host(const Span& source, const Allocation& target) override;
  void record_copy(const Span& source, const Span& target) override;
  void record_fill(const Span& target, std::byte value) override;
  void record_launch(const Launch& launch) override;

  // These are called with mutex_ held.
  [[nodiscard]] Submission& recording();
  [[nodiscard]] VkResult wait_for_number(uint64_t serial) const;
  void note_failure(VkResult result, const char* call);
  // A command buffer for a step that touches these ranges, behind what it waits for.
  VkCommandBuffer step(std::span<const Hazards::Range> ranges);
  void barrier(VkPipelineStageFlags readers, VkAccessFlags access);

  std::shared_ptr<Device> device_;
  Timestamps timestamps_;
  VkSemaphore timeline_ = VK_NULL_HANDLE;

  std::unique_ptr<Submission> recording_;
  std::deque<std::unique_ptr<Submission>> running_;  // in their order
  std::vector<std::unique_ptr<Submission>> idle_;
  Hazards hazards_;
  // Ranges accessed by the current launch.
  std::vector<Hazards::Range> ranges_;
  std::vector<VkDescriptorBufferInfo> descriptors_;
};

}  // namespace wick::vulkan
