// Schedules: the learning rate of each step of a training, counted from 0.
#pragma once

#include <cstdint>
#include <functional>

namespace [[gnu::visibility("default")]] wick {
namespace nn {

using Schedule = std::function<double(int64_t step)>;

namespace schedule {

[[nodiscard]] Schedule constant(double rate);
// Times `factor` after every `every` steps. Errors: invalid_argument for an `every` below 1.
[[nodiscard]] Schedule step(double rate, int64_t every, double factor);
// rate · factor^step
[[nodiscard]] Schedule exponential(double rate, double factor);
// From `rate` down to `lowest` after `steps`, along half a cosine wave; then it stays (Loshchilov & Hutter 2017).
[[nodiscard]] Schedule cosine(double rate, int64_t steps, double lowest = 0);
// From start · the first rate of `after` up to it in `steps` even steps, then `after`, whose steps are counted from there.
[[nodiscard]] Schedule linear_warm_up(int64_t steps, Schedule after, double start = 0);

struct OneCycleConfig {
  double rise = 0.3;           // the share of the steps until the highest rate
  double start_divisor = 25;   // highest / this is the first rate
  double final_divisor = 1e4;  // first / this is the last one
};
// From highest / start_divisor up to `highest` and down to the last rate, both along half a cosine wave, in `steps` steps (Smith &
// Topin 2018; the places of PyTorch's OneCycleLR). Errors: invalid_argument for fewer than two steps or a rise outside (0, 1).
[[nodiscard]] Schedule one_cycle(double highest, int64_t steps, const OneCycleConfig& config = {});

}  // namespace schedule

}  // namespace nn
}  // namespace wick
