// A SubmissionQueue records what it is given, hands it to a driver in submissions, and waits for them by number: what queues of command
// buffers have alike.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "wick/base/error.h"
#include "wick/device/last_work.h"
#include "wick/device/queue.h"

namespace wick {

// Submissions are numbered from 1 in their order. A device that is lost stays so: what is queued from then on is dropped, and every wait
// throws the error.
class SubmissionQueue : public Queue, public std::enable_shared_from_this<SubmissionQueue> {
 public:
  void flush() override;
  void synchronize() override;
  [[nodiscard]] std::unique_ptr<Event> record() override;

  // Hands over what is recorded up to that submission, and returns when it is done. Errors: what failed.
  void wait(uint64_t serial);
  // The same for whoever must not throw: what failed is thrown by the next wait.
  void finish(uint64_t serial) noexcept;
  [[nodiscard]] bool is_done(uint64_t serial);
  [[nodiscard]] bool is_lost() noexcept;
  void throw_if_lost();

 protected:
  // These are called with mutex_ held.
  [[nodiscard]] virtual bool has_recorded() const noexcept = 0;
  // Hands over what is recorded, if there is something, under the number recorded().
  virtual void submit() = 0;
  // The last number that is done; notes what failed.
  [[nodiscard]] virtual uint64_t completed() = 0;
  // This one without it, so that others go on recording: returns when a submission that was handed over is done, or the device is lost.
  virtual void wait_for_driver(uint64_t serial) = 0;

  [[nodiscard]] uint64_t recorded() const noexcept { return submitted_ + 1; }  // the number that the next submission will have
  // The serial number of the next submission, or of the last one if nothing is recorded.
  [[nodiscard]] uint64_t last_serial() const noexcept { return has_recorded() && !failure_ ? recorded() : submitted_; }

  // Takes the device for lost, unless it is that already.
  void lose(std::string_view place, std::string_view cause);

  std::mutex mutex_;
  uint64_t submitted_ = 0;        // the last number handed over
  LastWork last_work_;            // that was queued
  std::optional<Error> failure_;  // once the device is lost
};

// The end of a submission. Keeps the queue.
class SubmissionEvent : public Event {
 public:
  SubmissionEvent(std::shared_ptr<SubmissionQueue> queue, uint64_t serial) : queue_(std::move(queue)), serial_(serial) {}
  [[nodiscard]] bool is_done() override { return queue_->is_done(serial_); }
  void wait() override { queue_->wait(serial_); }

 protected:
  [[nodiscard]] SubmissionQueue& queue() const noexcept { return *queue_; }
  [[nodiscard]] uint64_t serial() const noexcept { return serial_; }

 private:
  std::shared_ptr<SubmissionQueue> queue_;
  uint64_t serial_;
};

}  // namespace wick
