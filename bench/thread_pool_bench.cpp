// Times what a fork-join of the thread pool costs beside the work of its shares: what each op pays for using several threads.
#include "thread_pool_bench.h"

#include <benchmark/benchmark.h>

#include <chrono>

#include "wick/base/thread_pool.h"

namespace wick {
namespace {

using Clock = std::chrono::steady_clock;

void be_busy(std::chrono::microseconds time) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end) {}
}

// Each share is busy for `work_us`, so that the caller cannot take another's; what a call takes beyond that is the cost. Between two calls
// the caller is busy for `pause_us`, while the other threads spin.
void fork_join(benchmark::State& state) {
  ThreadPool pool(static_cast<int>(state.range(0)));
  const std::chrono::microseconds pause(state.range(1));
  const std::chrono::microseconds work(state.range(2));
  for (auto _ : state) {
    be_busy(pause);
    const auto begin = Clock::now();
    pool.run([&](int /*share*/, int /*shares*/) { be_busy(work); });
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - begin - work).count());
  }
}

}  // namespace

void register_thread_pool_benchmarks() {
  benchmark::RegisterBenchmark("fork_join", fork_join)
      ->ArgNames({"threads", "pause_us", "work_us"})
      ->ArgsProduct({{1, 2}, {0, 20}, {0, 10}})
      ->UseManualTime();
}

}  // namespace wick
