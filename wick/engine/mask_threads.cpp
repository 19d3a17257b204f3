#include "wick/engine/mask_threads.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "wick/base/error.h"

namespace wick {

std::span<const uint64_t> NextTokenMask::get() const {
  if (error != nullptr) std::rethrow_exception(error);
  return allowed;
}

MaskThreads::~MaskThreads() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    queue_.clear();
    work_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void MaskThreads::fill(NextTokenMask& mask) noexcept {
  mask.error = nullptr;
  try {
    mask.constraint->fill_mask(mask.allowed);
  } catch (const Error&) {
    mask.error = std::current_exception();
  } catch (const std::exception& error) {
    mask.error = std::make_exception_ptr(Error(ErrorCode::out_of_memory, error.what()));
  }
}

void MaskThreads::compute(const std::shared_ptr<NextTokenMask>& mask) {
  using State = NextTokenMask::State;
  std::unique_lock lock(mutex_);
  if (mask->state != State::unknown) return;
  const size_t most = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMaxThreads);
  if (queue_.size() >= idle_ && threads_.size() < most) {
    try {
      threads_.emplace_back([this] { run(); });
    } catch (const std::system_error&) {
      // The system has no more threads; those that there are do it, or this one.
    }
  }
  if (threads_.empty()) {
    fill(*mask);
    mask->state = State::known;
    return;
  }
  mask->state = State::queued;
  queue_.push_back(mask);
  work_.notify_one();
}

void MaskThreads::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    work_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    --idle_;
    if (stopping_) return;
    const std::shared_ptr<NextTokenMask> mask = std::move(queue_.front());
    queue_.pop_front();
    if (!mask->wanted) continue;
    lock.unlock();
    fill(*mask);
    lock.lock();
    mask->state = NextTokenMask::State::known;
    ++done_;
    known_.notify_all();
  }
}

bool MaskThreads::wait(const NextTokenMask& mask, std::chrono::steady_clock::time_point until) {
  std::unique_lock lock(mutex_);
  return known_.wait_until(lock, until, [&] { return mask.state == NextTokenMask::State::known; });
}

void MaskThreads::wait_for_any(std::chrono::steady_clock::time_point until) {
  std::unique_lock lock(mutex_);
  known_.wait_until(lock, until, [this] { return done_ != seen_; });
  seen_ = done_;
}

void MaskThreads::forget(NextTokenMask& mask) {
  const std::lock_guard lock(mutex_);
  mask.wanted = false;
}

}  // namespace wick
