// The Queue records what it is given into one command buffer after another, and hands each over when it is full or somebody waits for it.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "wick/backend/vulkan/submission.h"
#include "wick/backend/vulkan/timestamps.h"
#include "wick/device/block_span.h"
#include "wick/device/readback_queue.h"
#include "wick/device/submission_queue.h"

namespace wick::vulkan {

// A timeline semaphore holds the number of the last submission that is done.
class Queue final : public SubmissionQueue, public ReadbackQueue {
 public:
  explicit Queue(std::shared_ptr<Device> device);
  ~Queue() override;

  void upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) override;
  void download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) override;
  void copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) override;
  void fill(Buffer& target, size_t offset, size_t bytes, std::byte value) override;
  void launch(const Launch& launch) override;
  [[nodiscard]] std::unique_ptr<Event> record() override;
  [[nodiscard]] std::unique_ptr<Event> read_back(const Buffer& source, size_t offset, std::byte* target, size_t bytes) override;

  [[nodiscard]] Device& device() const noexcept { return *device_; }
  [[nodiscard]] Timestamps& timestamps() noexcept { return timestamps_; }

 private:
  using Span = BlockSpan<Block>;

  [[nodiscard]] bool has_recorded() const noexcept override { return recording_ != nullptr; }
  void submit() override;
  [[nodiscard]] uint64_t completed() override;
  void wait_for_driver(uint64_t serial) override;

  // These are called with mutex_ held.
  [[nodiscard]] Submission& recording();
  void submit_if_full();
  void recycle();
  [[nodiscard]] VkResult wait_for_number(uint64_t serial) const;
  void lose(VkResult result, const char* call);
  // For want of host memory, unless that is because the device is lost.
  [[noreturn]] void fail_allocation(std::string_view purpose);
  void step(std::initializer_list<Hazards::Range> ranges);
  void barrier(VkPipelineStageFlags readers, VkAccessFlags access);
  void record_copy(const Span& source, const Span& target);
  void stage(const std::byte* source, const Span& target);
  // Gives the number of the submission.
  [[nodiscard]] uint64_t copy_to_host(const Span& source, const Allocation& target);
  // Memory for a readback that nobody waits for any more; nullptr where there is none.
  [[nodiscard]] std::shared_ptr<Allocation> readback_memory();

  std::shared_ptr<Device> device_;
  Timestamps timestamps_;
  VkSemaphore timeline_ = VK_NULL_HANDLE;

  std::unique_ptr<Submission> recording_;
  std::deque<std::unique_ptr<Submission>> running_;  // in their order
  std::vector<std::unique_ptr<Submission>> idle_;
  Hazards hazards_;
  // Of the launch at hand.
  std::vector<Hazards::Range> ranges_;
  std::vector<VkDescriptorBufferInfo> descriptors_;

  std::vector<std::shared_ptr<Allocation>> readbacks_;
  std::mutex download_mutex_;
  std::shared_ptr<Allocation> download_;  // made by the first download that needs it
};

}  // namespace wick::vulkan
