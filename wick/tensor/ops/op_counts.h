// OpCounts counts the ops that devices run while it is alive: what a receipt says was launched.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "wick/tensor/ops/dispatch.h"

namespace wick {

class OpCounts {
 public:
  // At most one at a time; the others see nothing.
  OpCounts();
  ~OpCounts();
  OpCounts(const OpCounts&) = delete;
  OpCounts& operator=(const OpCounts&) = delete;

  // By the kernel's name, "cpu:linear.q8_0", with ":kernel" or ":reference" where it is not the device's own.
  [[nodiscard]] std::map<std::string, uint64_t> by_name() const;

  // Whether one is alive; dispatch() then tells it of each op.
  [[nodiscard]] static bool active() noexcept;
  static void note(DeviceKind device, OpId op, DType dtype, Support support);

 private:
  struct Key {
    DeviceKind device;
    OpId op;
    DType dtype;
    Support support;
    auto operator<=>(const Key&) const = default;
  };

  mutable std::mutex mutex_;
  std::map<Key, uint64_t> counts_;
};

}  // namespace wick
