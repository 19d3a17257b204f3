#include "wick/device/queue.h"

#include "wick/device/readback_queue.h"

namespace wick {
namespace {

// Of a queue that has finished a call when it returns.
class PastEvent final : public Event {
 public:
  [[nodiscard]] bool is_done() override { return true; }
  void wait() override {}
};

}  // namespace

std::unique_ptr<Event> past_event() { return std::make_unique<PastEvent>(); }

std::unique_ptr<Event> Queue::record() {
  synchronize();
  return past_event();
}

std::unique_ptr<Event> read_back(Queue& queue, const Buffer& source, size_t offset, std::byte* target, size_t bytes) {
  if (auto* const able = dynamic_cast<ReadbackQueue*>(&queue); able != nullptr && bytes <= ReadbackQueue::kMaxBytes) {
    return able->read_back(source, offset, target, bytes);
  }
  queue.download(source, offset, target, bytes);
  return past_event();
}

}  // namespace wick
