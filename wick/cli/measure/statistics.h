// Means of measured values, and how sure they are.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace wick {

// The mean of values that come one after another (Welford 1962), and its standard error.
class RunningMean {
 public:
  void add(double value) noexcept {
    ++count_;
    const double delta = value - mean_;
    mean_ += delta / static_cast<double>(count_);
    squares_ += delta * (value - mean_);
  }
  [[nodiscard]] int64_t count() const noexcept { return count_; }
  [[nodiscard]] double mean() const noexcept { return mean_; }
  // Standard deviation with count - 1 degrees of freedom; 0 for fewer than two values.
  [[nodiscard]] double deviation() const noexcept { return count_ < 2 ? 0 : std::sqrt(squares_ / static_cast<double>(count_ - 1)); }
  // Standard error of the mean.
  [[nodiscard]] double error() const noexcept { return count_ < 2 ? 0 : deviation() / std::sqrt(static_cast<double>(count_)); }

 private:
  int64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

// The value below which `share` of the sorted values are, interpolated between neighbours; at least one value.
[[nodiscard]] inline double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = below + 1 < sorted.size() ? below + 1 : below;
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace wick
