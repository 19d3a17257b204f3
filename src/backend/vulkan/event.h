// A point in the order of Vulkan's queue: the submission that it is recorded into, and a timestamp there.
#pragma once

#include <memory>
#include <optional>

#include "backend/vulkan/queue.h"

namespace wick::vulkan {

class QueueEvent final : public Event {
 public:
  QueueEvent(std::shared_ptr<Queue> queue, uint64_t serial, std::optional<uint32_t> timestamp)
      : queue_(std::move(queue)), serial_(serial), timestamp_(timestamp) {}
  ~QueueEvent() override {
    if (timestamp_) queue_->timestamps().give_back(*timestamp_);
  }

  [[nodiscard]] bool is_done() override { return queue_->is_done(serial_); }
  void wait() override { queue_->wait(serial_); }
  [[nodiscard]] std::optional<double> seconds_since(const Event& earlier) const override;

 private:
  std::shared_ptr<Queue> queue_;
  uint64_t serial_;
  std::optional<uint32_t> timestamp_;
};

}  // namespace wick::vulkan
