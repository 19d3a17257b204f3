// A SubmissionDriver is what drivers with a SubmissionQueue have alike as KernelRuntime wants them.
#pragma once

#include <memory>
#include <utility>

#include "wick/device/kernel_driver.h"
#include "wick/device/submissions/submission_queue.h"

namespace wick {

// Device: has caps(). Queue: a SubmissionQueue that is made from one.
template <class Device, class Queue>
class SubmissionDriver : public KernelDriver {
 public:
  explicit SubmissionDriver(std::shared_ptr<Device> device) : device_(std::move(device)), queue_(std::make_shared<Queue>(device_)) {}

  [[nodiscard]] const DeviceCaps& caps() const noexcept override { return device_->caps(); }
  [[nodiscard]] Queue& queue() noexcept override { return *queue_; }
  [[nodiscard]] bool is_lost() const noexcept override { return queue_->is_lost(); }
  [[nodiscard]] Device& device() const noexcept { return *device_; }
  // For blocks of memory that are made elsewhere.
  [[nodiscard]] const std::shared_ptr<Queue>& shared_queue() const noexcept { return queue_; }

 protected:
  std::shared_ptr<Device> device_;
  std::shared_ptr<Queue> queue_;
};

}  // namespace wick
