// A RandomStream remembers how far a device has come in its stream of random numbers (philox.h).
#pragma once

#include <cstdint>
#include <mutex>

namespace [[gnu::visibility("default")]] wick {

// The seed of a device that was given none.
inline constexpr uint64_t kDefaultSeed = 299792458;

// May be used by several threads at once; which of them draws first is theirs to decide.
class RandomStream {
 public:
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
  // The next `words` words are the caller's.
  [[nodiscard]] Draw take(uint64_t words) {
    const std::lock_guard lock(mutex_);
    const Draw draw{seed_, offset_};
    offset_ += words;
    return draw;
  }

 private:
  mutable std::mutex mutex_;
  uint64_t seed_ = kDefaultSeed;
  uint64_t offset_ = 0;
};

}  // namespace wick
