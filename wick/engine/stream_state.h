// A StreamState is what an Engine and the Stream of a request share: the events between them, and whether it was cancelled.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "wick/engine/stream.h"

namespace wick {

class StreamState {
 public:
  // `wake`: called by cancel(), so that the engine takes note at once; may be empty.
  StreamState(uint64_t id, std::function<void()> wake) : id_(id), wake_(std::move(wake)) {}

  [[nodiscard]] uint64_t id() const noexcept { return id_; }

  // --- The engine's side, on its thread ---

  // `last`: no other event follows. Nothing is added behind that one.
  void push(StreamEvent event, bool last);
  // Tells the reader of what was pushed since.
  void publish() noexcept;
  [[nodiscard]] bool cancelled() const noexcept { return cancelled_.load(std::memory_order_relaxed); }

  // --- The reader's ---

  [[nodiscard]] std::optional<StreamEvent> take(std::optional<std::chrono::steady_clock::time_point> until);
  [[nodiscard]] bool ended() const;
  void cancel();
  void on_ready(std::function<void()> ready);

 private:
  void call_ready() noexcept;

  const uint64_t id_;
  const std::function<void()> wake_;
  std::atomic<bool> cancelled_ = false;
  mutable std::mutex mutex_;  // of what follows
  std::condition_variable arrived_;
  std::deque<StreamEvent> events_;
  bool closed_ = false;  // the last event was pushed
  std::function<void()> ready_;
  std::vector<StreamEvent> unpublished_;  // the engine's alone
  bool last_ = false;                     // the engine's alone
};

}  // namespace wick
