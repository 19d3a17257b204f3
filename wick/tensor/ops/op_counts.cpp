#include "wick/tensor/ops/op_counts.h"

#include <fmt/format.h>

#include <atomic>

namespace wick {
namespace {

// Whoever counts. Like the log hook it is of the program, not of a device: dispatch() has no caller that could be asked.
std::atomic<OpCounts*> counting = nullptr;

}  // namespace

OpCounts::OpCounts() {
  OpCounts* none = nullptr;
  counting.compare_exchange_strong(none, this);
}

OpCounts::~OpCounts() {
  OpCounts* own = this;
  counting.compare_exchange_strong(own, nullptr);
}

bool OpCounts::active() noexcept { return counting.load(std::memory_order_relaxed) != nullptr; }

void OpCounts::note(DeviceKind device, OpId op, DType dtype, Support support) {
  OpCounts* counts = counting.load(std::memory_order_acquire);
  if (counts == nullptr) return;
  const std::lock_guard lock(counts->mutex_);
  ++counts->counts_[{device, op, dtype, support}];
}

std::map<std::string, uint64_t> OpCounts::by_name() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, uint64_t> named;
  for (const auto& [key, count] : counts_) {
    const char* how = key.support == Support::kernel ? ":kernel" : key.support == Support::reference ? ":reference" : "";
    named[fmt::format("{}:{}.{}{}", to_string(key.device), to_string(key.op), to_string(key.dtype), how)] += count;
  }
  return named;
}

}  // namespace wick
