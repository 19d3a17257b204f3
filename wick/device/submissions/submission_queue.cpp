#include "wick/device/submissions/submission_queue.h"

#include "wick/device/device_lost.h"

namespace wick {

void SubmissionQueue::flush() {
  const std::lock_guard lock(mutex_);
  if (!failure_) submit();
}

void SubmissionQueue::synchronize() {
  uint64_t last = 0;
  {
    const std::lock_guard lock(mutex_);
    last = last_serial();
  }
  wait(last);
}

std::unique_ptr<Event> SubmissionQueue::record() {
  const std::lock_guard lock(mutex_);
  return std::make_unique<SubmissionEvent>(shared_from_this(), last_serial());
}

void SubmissionQueue::wait(uint64_t serial) {
  {
    const std::lock_guard lock(mutex_);
    if (serial > submitted_ && !failure_) submit();
    if (failure_) throw Error(*failure_);
  }
  wait_for_driver(serial);
  const std::lock_guard lock(mutex_);
  static_cast<void>(completed());
  if (failure_) throw Error(*failure_);
}

void SubmissionQueue::finish(uint64_t serial) noexcept {
  try {
    if (serial > 0) wait(serial);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): nothing runs on a device that is lost
  }
}

bool SubmissionQueue::is_done(uint64_t serial) {
  const std::lock_guard lock(mutex_);
  if (serial > submitted_ && !failure_) submit();
  const uint64_t done = completed();
  return failure_ || done >= serial;
}

bool SubmissionQueue::is_lost() noexcept {
  const std::lock_guard lock(mutex_);
  return failure_.has_value();
}

void SubmissionQueue::throw_if_lost() {
  const std::lock_guard lock(mutex_);
  if (failure_) throw Error(*failure_);
}

void SubmissionQueue::lose(std::string_view place, std::string_view cause) {
  if (!failure_) failure_ = device_lost(place, cause, last_work_.text());
}

}  // namespace wick
