// Slots hands out numbers that nobody else has: places in a pool of things that a driver makes all at once.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace wick {

class Slots {
 public:
  // 0 to count - 1.
  explicit Slots(uint32_t count) {
    for (uint32_t slot = count; slot > 0; --slot) free_.push_back(slot - 1);
  }

  // None where all are taken.
  [[nodiscard]] std::optional<uint32_t> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::nullopt;
    const uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give_back(uint32_t slot) {
    const std::lock_guard lock(mutex_);
    free_.push_back(slot);
  }

 private:
  std::mutex mutex_;
  std::vector<uint32_t> free_;
};

}  // namespace wick
