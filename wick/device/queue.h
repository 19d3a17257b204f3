// A Queue moves bytes and runs programs, in order, on one device.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "wick/device/buffer.h"
#include "wick/device/program.h"

namespace [[gnu::visibility("default")]] wick {

// A point in a queue's order.
class Event {
 public:
  Event() = default;
  virtual ~Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  [[nodiscard]] virtual bool is_done() = 0;
  // Returns when everything queued before it is done; throws the errors of asynchronous work.
  virtual void wait() = 0;
  // Seconds of the device's own clock from an earlier event of the same queue to this one, both done; none where it has no such clock.
  [[nodiscard]] virtual std::optional<double> seconds_since(const Event& /*earlier*/) const { return std::nullopt; }
};

// Offsets and sizes are in bytes, inside the buffer (the caller has checked). Work begins when the queue likes, in the order of the calls;
// its errors are thrown by the next call that waits. Several threads may call at once; each call is whole.
class Queue {
 public:
  Queue() = default;
  virtual ~Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // The source is read before the call returns.
  virtual void upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) = 0;
  // Waits for what was queued before.
  virtual void download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) = 0;
  // Between two ranges that do not overlap.
  virtual void copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) = 0;
  virtual void fill(Buffer& target, size_t offset, size_t bytes, std::byte value) = 0;
  // Runs a program of this queue's device. Runtime::launch checks what it is given; this does not.
  virtual void launch(const Launch& launch) = 0;
  // Hands over what is queued, without waiting.
  virtual void flush() {}
  // Returns when everything queued before is done; throws the errors of asynchronous work.
  virtual void synchronize() = 0;
  // An event behind everything queued so far.
  [[nodiscard]] virtual std::unique_ptr<Event> record();
};

}  // namespace wick
