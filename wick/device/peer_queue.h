// A PeerQueue is a queue whose driver copies from another of its devices without the host between them.
#pragma once

#include <cstddef>

#include "wick/device/queue.h"

namespace [[gnu::visibility("default")]] wick {

class PeerQueue {
 public:
  PeerQueue() = default;
  virtual ~PeerQueue() = default;
  PeerQueue(const PeerQueue&) = delete;
  PeerQueue& operator=(const PeerQueue&) = delete;

  // Queues a copy into `target`, which is this queue's, after all that `other` has queued; what `other` queues from now on waits for it.
  // false, with nothing queued, where both are not of one driver. Errors: those of both queues.
  [[nodiscard]] virtual bool copy_from_peer(Queue& other, const Buffer& source, size_t source_offset, Buffer& target, size_t target_offset,
                                            size_t bytes) = 0;
};

}  // namespace wick
