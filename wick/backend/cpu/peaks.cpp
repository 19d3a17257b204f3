// What this machine can do with as many threads as the runtime has: reading memory, and arithmetic that waits for nothing.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "wick/backend/cpu/cpu_runtime.h"

namespace wick::cpu {
namespace {

using Clock = std::chrono::steady_clock;

// More than any cache holds.
constexpr size_t kReadBytes = size_t{1} << 30;
constexpr int kRounds = 8;
constexpr int kReadRounds = 2;            // for each prefetch distance
constexpr int64_t kChainSteps = 400'000;  // 1 to 5 ms

// The best of several rounds, in units a second: what other programs take away is not the machine's. body(share, shares) returns the
// units that it has done.
template <class Body>
double best_rate(ThreadPool& threads, int rounds, const Body& body) {
  double best = 0;
  std::vector<double> units(static_cast<size_t>(threads.size()));
  for (int round = 0; round < rounds; ++round) {
    const auto begin = Clock::now();
    threads.run([&](int share, int shares) { units[static_cast<size_t>(share)] = body(share, shares); });
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    double total = 0;
    for (const double part : units) total += part;
    best = std::max(best, total / seconds);
  }
  return best;
}

double chain_rate(ThreadPool& threads, double (*chains)(int64_t)) {
  return chains == nullptr ? 0 : best_rate(threads, kRounds, [&](int /*share*/, int /*shares*/) { return chains(kChainSteps); });
}

}  // namespace

MeasuredPeaks CpuRuntime::measure_peaks() {
  const std::unique_ptr<Buffer> memory = allocate(kReadBytes, Lifetime::persistent);
  std::byte* data = memory->host_data();
  const auto part = [](int share, int shares) {
    return kReadBytes / 1024 * static_cast<size_t>(share) / static_cast<size_t>(shares) * 1024;
  };
  threads_.run([&](int share, int shares) { std::memset(data + part(share, shares), 1, part(share + 1, shares) - part(share, shares)); });
  MeasuredPeaks peaks;
  const auto read_rate = [&](int64_t prefetch_distance) {
    return best_rate(threads_, kReadRounds, [&](int share, int shares) {
      const size_t bytes = part(share + 1, shares) - part(share, shares);
      (void)kernels_.peaks.read(data + part(share, shares), bytes, prefetch_distance);
      return static_cast<double>(bytes);
    });
  };
  for (const int64_t distance : kPrefetchDistances) peaks.read_bytes = std::max(peaks.read_bytes, read_rate(distance));
  peaks.int8_operations = chain_rate(threads_, kernels_.peaks.int8);
  peaks.bf16_operations = chain_rate(threads_, kernels_.peaks.bf16);
  peaks.f32_operations = chain_rate(threads_, kernels_.peaks.f32);
  return peaks;
}

}  // namespace wick::cpu
