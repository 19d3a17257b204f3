#include "wick/nn/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "wick/base/fail.h"

namespace wick::nn::schedule {
namespace {

// Half a cosine wave from `from` (share 0) to `to` (share 1).
double anneal(double from, double to, double share) { return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * share)); }

}  // namespace

Schedule constant(double rate) {
  return [rate](int64_t /*step*/) { return rate; };
}

Schedule step(double rate, int64_t every, double factor) {
  if (every < 1) fail(ErrorCode::invalid_argument, "schedule::step: every is {}; allowed: 1 or more", every);
  return [=](int64_t step) {
    const int64_t times = step / every;
    return rate * std::pow(factor, static_cast<double>(times));
  };
}

Schedule exponential(double rate, double factor) {
  return [=](int64_t step) { return rate * std::pow(factor, static_cast<double>(step)); };
}

Schedule cosine(double rate, int64_t steps, double lowest) {
  if (steps < 1) fail(ErrorCode::invalid_argument, "schedule::cosine: steps is {}; allowed: 1 or more", steps);
  return [=](int64_t step) { return anneal(rate, lowest, static_cast<double>(std::min(step, steps)) / static_cast<double>(steps)); };
}

Schedule linear_warm_up(int64_t steps, Schedule after, double start) {
  if (steps < 0) fail(ErrorCode::invalid_argument, "schedule::linear_warm_up: steps is {}; allowed: 0 or more", steps);
  return [steps, start, after = std::move(after)](int64_t step) {
    if (step >= steps) return after(step - steps);
    return after(0) * (start + (1 - start) * static_cast<double>(step) / static_cast<double>(steps));
  };
}

Schedule one_cycle(double highest, int64_t steps, const OneCycleConfig& config) {
  const double peak = config.rise * static_cast<double>(steps) - 1;
  const double last = static_cast<double>(steps) - 1;
  if (steps < 2 || !(config.rise > 0 && config.rise < 1)) {
    fail(ErrorCode::invalid_argument, "schedule::one_cycle: steps is {} and rise is {}; allowed: 2 steps or more, a rise between 0 and 1",
         steps, config.rise);
  }
  const double first = highest / config.start_divisor;
  return [=](int64_t step) {
    const double place = std::min(static_cast<double>(step), last);
    if (place <= peak) return anneal(first, highest, peak > 0 ? place / peak : 1);
    return anneal(highest, first / config.final_divisor, (place - peak) / (last - peak));
  };
}

}  // namespace wick::nn::schedule
