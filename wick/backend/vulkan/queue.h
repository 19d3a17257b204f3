// The Queue records what it is given into one command buffer after another, and hands each over when it is full or somebody waits for it.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/backend/vulkan/submission.h"
#include "wick/backend/vulkan/timestamps.h"
#include "wick/base/error.h"
#include "wick/device/hazards.h"
#include "wick/device/last_work.h"
#include "wick/device/queue.h"
#include "wick/device/readback_queue.h"

namespace wick::vulkan {

// Submissions are numbered from 1 in their order; a timeline semaphore holds the number of the last that is done. A device that is lost
// stays lost: what is queued for it from then on is dropped, and every wait throws the error.
class Queue final : public wick::Queue, public ReadbackQueue, public std::enable_shared_from_this<Queue> {
 public:
  explicit Queue(std::shared_ptr<Device> device);
  ~Queue() override;

  void upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) override;
  void download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) override;
  void copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) override;
  void fill(Buffer& target, size_t offset, size_t bytes, std::byte value) override;
  void launch(const Launch& launch) override;
  void flush() override;
  void synchronize() override;
  [[nodiscard]] std::unique_ptr<Event> record() override;
  [[nodiscard]] std::unique_ptr<Event> read_back(const Buffer& source, size_t offset, std::byte* target, size_t bytes) override;

  [[nodiscard]] Device& device() const noexcept { return *device_; }
  [[nodiscard]] Timestamps& timestamps() noexcept { return timestamps_; }
  // Hands over what is recorded up to that submission, and returns when it is done.
  void wait(uint64_t serial);
  [[nodiscard]] bool is_done(uint64_t serial);
  // As wait, for whoever must not throw: returns too where the device is lost.
  void finish(uint64_t serial) noexcept;
  [[nodiscard]] bool is_lost() noexcept;

 private:
  struct Span;

  // These are called with mutex_ held.
  [[nodiscard]] Submission& recording();
  [[nodiscard]] uint64_t completed();
  void submit();
  void submit_if_full();
  void recycle();
  void wait_for(uint64_t serial);
  void lose(VkResult result, const char* call);
  // For want of host memory, unless that is because the device is lost.
  [[noreturn]] void fail_allocation(std::string_view purpose);
  [[nodiscard]] Span span(const Buffer& buffer, size_t offset, size_t bytes);
  void step(std::initializer_list<Hazards::Range> ranges);
  void barrier(VkPipelineStageFlags readers, VkAccessFlags access);
  void stage(const std::byte* source, const Span& target);
  void copy_spans(const Span& source, const Span& target);
  // Memory for a readback that nobody waits for any more; nullptr where there is none.
  [[nodiscard]] std::shared_ptr<Allocation> readback_memory();

  std::shared_ptr<Device> device_;
  Timestamps timestamps_;
  VkSemaphore timeline_ = VK_NULL_HANDLE;

  std::mutex mutex_;
  std::unique_ptr<Submission> recording_;
  std::deque<std::unique_ptr<Submission>> running_;  // in their order
  std::vector<std::unique_ptr<Submission>> idle_;
  uint64_t submitted_ = 0;  // the last number handed over
  Hazards hazards_;
  LastWork last_work_;            // that was queued
  std::optional<Error> failure_;  // once the device is lost
  // Of the launch at hand.
  std::vector<Hazards::Range> ranges_;
  std::vector<VkDescriptorBufferInfo> descriptors_;

  std::vector<std::shared_ptr<Allocation>> readbacks_;
  std::mutex download_mutex_;
  std::shared_ptr<Allocation> download_;  // made by the first download that needs it
};

}  // namespace wick::vulkan
