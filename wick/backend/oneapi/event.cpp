#include "wick/backend/oneapi/event.h"

namespace wick::oneapi {
namespace {

constexpr uint32_t kEventsInPool = 64;

}  // namespace

EventPool::~EventPool() {
  for (EventHandle event : all_) api_.event_destroy.address(event);
  for (EventPoolHandle pool : pools_) api_.event_pool_destroy.address(pool);
}

void EventPool::grow() {
  const EventPoolDescription description{.count = kEventsInPool};
  DeviceHandle device = device_.handle;
  EventPoolHandle pool = nullptr;
  checked(place_, api_.event_pool_create, context_, &description, 1U, &device, &pool);
  pools_.push_back(pool);
  for (uint32_t i = 0; i < kEventsInPool; ++i) {
    const EventDescription event_description{.index = i};
    EventHandle event = nullptr;
    checked(place_, api_.event_create, pool, &event_description, &event);
    all_.push_back(event);
    fresh_.push_back(event);
  }
}

EventHandle EventPool::take() {
  const std::lock_guard lock(mutex_);
  if (!used_.empty() && api_.event_query.address(used_.front()) == kSuccess) {
    EventHandle event = used_.front();
    checked(place_, api_.event_reset, event);
    used_.pop_front();
    return event;
  }
  if (fresh_.empty()) grow();
  EventHandle event = fresh_.back();
  fresh_.pop_back();
  return event;
}

void EventPool::give_back(EventHandle event) noexcept {
  const std::lock_guard lock(mutex_);
  used_.push_back(event);
}

std::optional<uint64_t> EventPool::ticks(EventHandle event) const noexcept {
  KernelTimestamps stamps;
  if (device_.seconds_per_tick == 0 || api_.event_get_timestamps.address(event, &stamps) != kSuccess) return std::nullopt;
  return stamps.global.end;
}

double EventPool::seconds_between(uint64_t begin, uint64_t end) const noexcept {
  const uint64_t mask = device_.tick_bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << device_.tick_bits) - 1;
  return static_cast<double>((end - begin) & mask) * device_.seconds_per_tick;
}

}  // namespace wick::oneapi
