#include "wick/device/submissions/hazards.h"

#include <algorithm>

namespace wick {
namespace {

// A barrier every so many ranges costs less than a longer search in each step.
constexpr size_t kMaxRanges = 64;

bool conflict(const Hazards::Range& a, const Hazards::Range& b) {
  return a.block == b.block && (a.writes || b.writes) && a.begin < b.end && b.begin < a.end;
}

}  // namespace

bool Hazards::barrier_before(std::span<const Range> step) {
  const bool waits =
      !touched_.empty() &&
      (touched_.size() + step.size() > kMaxRanges || std::any_of(step.begin(), step.end(), [&](const Range& range) {
         return std::any_of(touched_.begin(), touched_.end(), [&](const Range& earlier) { return conflict(range, earlier); });
       }));
  if (waits) touched_.clear();
  touched_.insert(touched_.end(), step.begin(), step.end());
  return waits;
}

}  // namespace wick
