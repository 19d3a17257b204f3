// A ReadbackQueue is a queue that brings bytes to the host while it goes on with other work.
#pragma once

#include <cstddef>
#include <memory>

#include "wick/device/queue.h"

namespace [[gnu::visibility("default")]] wick {

class ReadbackQueue {
 public:
  // The most bytes of one call that do not wait.
  static constexpr size_t kMaxBytes = size_t{16} << 10;

  ReadbackQueue() = default;
  virtual ~ReadbackQueue() = default;
  ReadbackQueue(const ReadbackQueue&) = delete;
  ReadbackQueue& operator=(const ReadbackQueue&) = delete;

  // Queues a copy to the host behind all that was queued before; nothing that is queued from now on delays it. The bytes are at `target`
  // once the event has been waited for; until then, or until the event is gone, `target` must stay. Errors: those of the queue.
  [[nodiscard]] virtual std::unique_ptr<Event> read_back(const Buffer& source, size_t offset, std::byte* target, size_t bytes) = 0;
};

// The same on any queue; one that cannot, or has no memory for it, has downloaded when this returns.
[[nodiscard]] std::unique_ptr<Event> read_back(Queue& queue, const Buffer& source, size_t offset, std::byte* target, size_t bytes);
// An event of work that is done.
[[nodiscard]] std::unique_ptr<Event> past_event();

}  // namespace wick
