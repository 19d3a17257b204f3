// A RandomStream records how far a stream of random numbers (philox.h) has been used; this process has one for each device.
#pragma once

#include <cstdint>
#include <mutex>

#include "wick/device/device_kind.h"

namespace [[gnu::visibility("default")]] wick {

// Several threads may use it at once; the order of their draws is not defined.
class RandomStream {
 public:
  explicit RandomStream(uint64_t seed) noexcept : seed_(seed) {}

  // Begins the stream of that seed at its first word.
  void set_seed(uint64_t seed) {
    const std::lock_guard lock(mutex_);
    seed_ = seed;
    offset_ = 0;
  }
  [[nodiscard]] uint64_t seed() const {
    const std::lock_guard lock(mutex_);
    return seed_;
  }

  struct Draw {
    uint64_t seed;
    uint64_t offset;  // of its first word
  };
  // Reserves the next `words` words for the caller.
  [[nodiscard]] Draw take(uint64_t words) {
    const std::lock_guard lock(mutex_);
    const Draw draw{seed_, offset_};
    offset_ += words;
    return draw;
  }

 private:
  mutable std::mutex mutex_;
  uint64_t seed_;
  uint64_t offset_ = 0;
};

// The stream of a device. It lasts as long as the process, whether or not the device is open, and whatever it is opened with. It begins
// with the seed of the process.
[[nodiscard]] RandomStream& random_stream(DeviceKind kind, int index);

// Sets the seed of the process: the streams of all devices, of those that are opened later too, restart with it, and so does
// draw_seed(). Without it the seed is random in each process, also in one that was forked.
void manual_seed(uint64_t seed);
// The seed of the process.
[[nodiscard]] uint64_t initial_seed();
// A new seed for whatever was given none, such as a request or the order of a DataLoader: a random number of 32 bits, short enough to be
// typed. After manual_seed() the sequence of these seeds is always the same.
[[nodiscard]] uint64_t draw_seed();

}  // namespace wick
