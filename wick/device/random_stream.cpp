#include "wick/device/random_stream.h"

#include <map>
#include <memory>
#include <random>
#include <utility>

#include "wick/base/process.h"
#include "wick/op/philox.h"

namespace wick {
namespace {

uint64_t system_seed() { return std::random_device{}(); }

// Random numbers are the process's, as its open devices are (registry.cpp).
class ProcessStreams {
 public:
  ProcessStreams() : seed_(system_seed()), seeds_(seed_) {}

  [[nodiscard]] RandomStream& of_device(DeviceKind kind, int index) {
    const std::lock_guard lock(mutex_);
    return of_devices_.try_emplace({kind, index}, seed_).first->second;
  }

  void set_seed(uint64_t seed) {
    const std::lock_guard lock(mutex_);
    is_set_ = true;
    begin(seed);
  }

  [[nodiscard]] uint64_t seed() {
    const std::lock_guard lock(mutex_);
    return seed_;
  }

  // Words 4n of the stream with the seed's bits inverted, so that the numbers that are drawn on devices do not contain them.
  [[nodiscard]] uint64_t draw_seed() {
    const RandomStream::Draw draw = seeds_.take(4);
    return stream_word(~draw.seed, draw.offset);
  }

  // The child would draw the numbers of its parent. Only the thread that forked is left, so a lock that is held stays so.
  void begin_forked_child() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock.owns_lock() && !is_set_) begin(system_seed());
  }

 private:
  // With mutex_ held.
  void begin(uint64_t seed) {
    seed_ = seed;
    seeds_.set_seed(seed);
    for (auto& [device, stream] : of_devices_) stream.set_seed(seed);
  }

  std::mutex mutex_;
  uint64_t seed_;
  bool is_set_ = false;
  RandomStream seeds_;
  std::map<std::pair<DeviceKind, int>, RandomStream> of_devices_;
};

// Never destroyed: threads may draw until the process has ended.
ProcessStreams& process_streams() {
  static ProcessStreams& streams = []() -> ProcessStreams& {
    ProcessStreams& made = *std::make_unique<ProcessStreams>().release();
    call_in_forked_children([] { process_streams().begin_forked_child(); });
    return made;
  }();
  return streams;
}

}  // namespace

RandomStream& random_stream(DeviceKind kind, int index) { return process_streams().of_device(kind, index); }
void manual_seed(uint64_t seed) { process_streams().set_seed(seed); }
uint64_t initial_seed() { return process_streams().seed(); }
uint64_t draw_seed() { return process_streams().draw_seed(); }

}  // namespace wick
