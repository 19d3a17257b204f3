// A CaptureQueue is a queue whose driver can take a sequence of work once and run it again by one call.
#pragma once

#include <functional>
#include <memory>

namespace [[gnu::visibility("default")]] wick {

// Work as its driver has it.
class CapturedWork {
 public:
  CapturedWork() = default;
  virtual ~CapturedWork() = default;
  CapturedWork(const CapturedWork&) = delete;
  CapturedWork& operator=(const CapturedWork&) = delete;

  // Queues all of it.
  virtual void launch() = 0;
};

class CaptureQueue {
 public:
  CaptureQueue() = default;
  virtual ~CaptureQueue() = default;
  CaptureQueue(const CaptureQueue&) = delete;
  CaptureQueue& operator=(const CaptureQueue&) = delete;

  // Records what `body` gives this queue (launches, copies and fills only) without running it; its buffers must live as long as the result.
  // nullptr where the driver cannot. Errors: those of the queue and of `body`.
  [[nodiscard]] virtual std::unique_ptr<CapturedWork> capture(const std::function<void()>& body) = 0;
};

}  // namespace wick
