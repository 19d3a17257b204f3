#include "wick/engine/engine_metrics.h"

#include <algorithm>

namespace wick {

std::span<const double> LatencyHistogram::bounds() noexcept {
  static constexpr std::array<double, kBounds> kSeconds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.25,
                                                           0.5,   0.75,   1,     2.5,  5,     10,   20,    40,  80,   160};
  return kSeconds;
}

void LatencyHistogram::add(double seconds) noexcept {
  const auto bound = std::lower_bound(bounds().begin(), bounds().end(), seconds);
  ++counts_[static_cast<size_t>(bound - bounds().begin())];
  ++count_;
  sum_ += seconds;
}

}  // namespace wick
