// Events of Level Zero come from pools; an EventPool gives single ones, takes them back, and uses them again.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "wick/backend/oneapi/device.h"

namespace wick::oneapi {

class EventPool {
 public:
  EventPool(const Api& api, ContextHandle context, const FoundDevice& device, const std::string& place)
      : api_(api), context_(context), device_(device), place_(place) {}
  ~EventPool();
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  // One that is not signalled. Errors: OneApiError.
  [[nodiscard]] EventHandle take();
  // It may still be queued, behind those that were given back before.
  void give_back(EventHandle event) noexcept;
  // The device's clock when the event was signalled; none where the driver does not tell.
  [[nodiscard]] std::optional<uint64_t> ticks(EventHandle event) const noexcept;
  [[nodiscard]] double seconds_between(uint64_t begin, uint64_t end) const noexcept;

 private:
  void grow();

  const Api& api_;
  ContextHandle context_;
  const FoundDevice& device_;
  const std::string& place_;
  std::mutex mutex_;
  std::vector<EventPoolHandle> pools_;
  std::vector<EventHandle> all_, fresh_;
  std::deque<EventHandle> used_;
};

}  // namespace wick::oneapi
