#include "wick/engine/stream.h"

#include <iterator>

#include "wick/engine/stream_state.h"

namespace wick {

void StreamState::push(StreamEvent event, bool last) {
  if (last_) return;
  last_ = last;
  unpublished_.push_back(std::move(event));
}

void StreamState::publish() noexcept {
  if (unpublished_.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    std::move(unpublished_.begin(), unpublished_.end(), std::back_inserter(events_));
    closed_ = last_;
  }
  unpublished_.clear();
  arrived_.notify_all();
  call_ready();
}

void StreamState::call_ready() noexcept {
  std::function<void()> ready;
  {
    const std::lock_guard lock(mutex_);
    if (!ready_) return;
    ready = ready_;
  }
  try {
    ready();
  } catch (...) {
    // Whoever cannot be told has no use for more.
    {
      const std::lock_guard lock(mutex_);
      ready_ = nullptr;
    }
    cancel();
  }
}

std::optional<StreamEvent> StreamState::take(std::optional<std::chrono::steady_clock::time_point> until) {
  std::unique_lock lock(mutex_);
  const auto is_there = [&] { return !events_.empty() || closed_; };
  if (!until) {
    arrived_.wait(lock, is_there);
  } else if (!is_there() && *until > std::chrono::steady_clock::now()) {
    // Not for nothing: a wait that is over when it begins costs a call of the system.
    arrived_.wait_until(lock, *until, is_there);
  }
  if (events_.empty()) return std::nullopt;
  std::optional<StreamEvent> event = std::move(events_.front());
  events_.pop_front();
  return event;
}

bool StreamState::ended() const {
  const std::lock_guard lock(mutex_);
  return closed_ && events_.empty();
}

void StreamState::cancel() {
  if (!cancelled_.exchange(true) && wake_) wake_();
}

void StreamState::on_ready(std::function<void()> ready) {
  bool at_once = false;
  {
    const std::lock_guard lock(mutex_);
    ready_ = std::move(ready);
    at_once = ready_ && !events_.empty();
  }
  if (at_once) call_ready();
}

Stream& Stream::operator=(Stream&& other) noexcept {
  if (this != &other && state_ != nullptr) state_->cancel();
  state_ = std::move(other.state_);
  return *this;
}

Stream::~Stream() {
  if (state_ != nullptr) state_->cancel();
}

std::optional<StreamEvent> Stream::next() { return state_ == nullptr ? std::nullopt : state_->take(std::nullopt); }

std::optional<StreamEvent> Stream::next_within(std::chrono::nanoseconds time) {
  return state_ == nullptr ? std::nullopt : state_->take(std::chrono::steady_clock::now() + time);
}

std::optional<StreamEvent> Stream::poll() { return next_within(std::chrono::nanoseconds(0)); }

bool Stream::ended() const { return state_ == nullptr || state_->ended(); }

void Stream::cancel() {
  if (state_ != nullptr) state_->cancel();
}

void Stream::on_ready(std::function<void()> ready) {
  if (state_ != nullptr) state_->on_ready(std::move(ready));
}

uint64_t Stream::id() const noexcept { return state_ == nullptr ? 0 : state_->id(); }

}  // namespace wick
