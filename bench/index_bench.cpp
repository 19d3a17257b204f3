// Times selections, sorts, running sums and random numbers, each in turns with the peer that it is measured against: memcpy of as many
// bytes by as many threads, std::sort and std::stable_sort. Prints medians and the ratio to the peer.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "wick/base/thread_pool.h"
#include "wick/device/device.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

using Clock = std::chrono::steady_clock;
using Action = std::function<void()>;

constexpr int kTurns = 7;

double seconds_of(const Action& action) {
  const auto begin = Clock::now();
  action();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// `ours` and `peer` in turns. `bytes`: those that ours reads and writes; the peer's are peer_bytes. 0: times are compared.
void compare(const std::string& name, const Action& ours, double bytes, const std::string& peer_name, const Action& peer,
             double peer_bytes) {
  std::vector<double> our_times;
  std::vector<double> peer_times;
  ours();
  peer();
  for (int turn = 0; turn < kTurns; ++turn) {
    our_times.push_back(seconds_of(ours));
    peer_times.push_back(seconds_of(peer));
  }
  const double time = median(our_times);
  const double peer_time = median(peer_times);
  if (bytes == 0) {
    fmt::print("{:<44} {:9.2f} ms   {:<22} {:9.2f} ms   {:6.2f} times as fast\n", name, time * 1e3, peer_name, peer_time * 1e3,
               peer_time / time);
  } else {
    const double rate = bytes / time / 1e9;
    const double peer_rate = peer_bytes / peer_time / 1e9;
    fmt::print("{:<44} {:9.2f} GB/s {:<22} {:9.2f} GB/s {:6.2f} of it\n", name, rate, peer_name, peer_rate, rate / peer_rate);
  }
}

struct Bench {
  Device device;
  ThreadPool pool;
  std::vector<float> from = std::vector<float>(size_t{1} << 24, 1.0F);  // 64 MiB
  std::vector<float> to = std::vector<float>(size_t{1} << 24);

  explicit Bench(int threads) : device(Device::open({DeviceKind::cpu, 0}, {.threads = threads, .variant = {}})), pool(threads) {}

  void copy() {
    pool.parallel_for(static_cast<int64_t>(from.size()), 16384, [&](int64_t begin, int64_t end) {
      std::memcpy(to.data() + begin, from.data() + begin, static_cast<size_t>(end - begin) * sizeof(float));
    });
  }
  void beside_copy(const std::string& name, const Action& ours, double bytes) {
    compare(name, ours, bytes, "memcpy 64 MiB", [this] { copy(); }, 2 * static_cast<double>(from.size()) * sizeof(float));
  }
  [[nodiscard]] Tensor ids(int64_t count, int64_t extent, const Shape& shape) const {
    return Tensor::rand(0, static_cast<double>(extent), {count}, DType::f64, device).to_dtype(DType::u32).reshape(shape);
  }
};

void selections(Bench& bench) {
  constexpr int64_t kElements = int64_t{1} << 24;
  for (const int64_t width : {1024, 256, 64, 16}) {
    const int64_t rows = kElements / width;
    const Tensor table = Tensor::ones({rows, width}, DType::f32, bench.device);
    const Tensor ids = bench.ids(rows, rows, {rows});
    bench.beside_copy(
        fmt::format("index_select of {} rows of {} B", rows, width * 4), [&] { (void)table.index_select(ids, 0); }, 8.0 * kElements);
  }
  const Tensor wide = Tensor::ones({4096, 4096}, DType::f32, bench.device);
  const Tensor columns = bench.ids(4096, 4096, {4096});
  bench.beside_copy("index_select of columns of [4096, 4096]", [&] { (void)wide.index_select(columns, 1); }, 8.0 * kElements);
  const Tensor ids = bench.ids(kElements, 4096, {4096, 4096});
  bench.beside_copy("gather along dim 1 of [4096, 4096]", [&] { (void)wide.gather(ids, 1); }, 12.0 * kElements);
  bench.beside_copy("gather along dim 0 of [4096, 4096]", [&] { (void)wide.gather(ids, 0); }, 12.0 * kElements);
}

void sorts(Bench& bench) {
  constexpr int64_t kCount = int64_t{1} << 20;
  const Tensor x = Tensor::randn(0, 1, {kCount}, DType::f32, bench.device);
  const std::vector<float> values = x.to_vector<float>();
  const Action standard = [&] {
    std::vector<float> sorted = values;
    std::sort(sorted.begin(), sorted.end());
  };
  compare("sort of 2^20 f32, values and indices", [&] { (void)x.sort_last_dim(true); }, 0, "std::sort of values", standard, 0);
  const Action stable = [&] {
    std::vector<uint32_t> order(values.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return values[a] < values[b]; });
  };
  compare("arg_sort of 2^20 f32", [&] { (void)x.arg_sort_last_dim(true); }, 0, "std::stable_sort", stable, 0);
  const Tensor rows = x.reshape({1024, 1024});
  const Action by_row = [&] {
    std::vector<float> sorted = values;
    for (size_t row = 0; row < 1024; ++row)
      std::sort(sorted.begin() + static_cast<std::ptrdiff_t>(row * 1024), sorted.begin() + static_cast<std::ptrdiff_t>((row + 1) * 1024));
  };
  compare("sort of 1024 rows of 1024 f32", [&] { (void)rows.sort_last_dim(true); }, 0, "std::sort of each", by_row, 0);
  const Action partial = [&] {
    std::vector<float> sorted = values;
    std::partial_sort(sorted.begin(), sorted.begin() + 40, sorted.end(), std::greater<>());
  };
  compare("topk(40) of 2^20 f32", [&] { (void)x.topk(40); }, 0, "std::partial_sort", partial, 0);
}

void sums_and_numbers(Bench& bench) {
  constexpr int64_t kElements = int64_t{1} << 24;
  const Tensor wide = Tensor::ones({4096, 4096}, DType::f32, bench.device);
  bench.beside_copy("cumsum along dim 1 of [4096, 4096]", [&] { (void)wide.cumsum(1); }, 8.0 * kElements);
  bench.beside_copy("cumsum along dim 0 of [4096, 4096]", [&] { (void)wide.cumsum(0); }, 8.0 * kElements);
  bench.beside_copy("cumsum of 2^24 f32", [&] { (void)wide.reshape({kElements}).cumsum(0); }, 8.0 * kElements);
  const Shape shape{kElements};
  bench.beside_copy("rand of 64 MiB of f32", [&] { (void)Tensor::rand(0, 1, shape, DType::f32, bench.device); }, 4.0 * kElements);
  bench.beside_copy("randn of 64 MiB of f32", [&] { (void)Tensor::randn(0, 1, shape, DType::f32, bench.device); }, 4.0 * kElements);
}

}  // namespace
}  // namespace wick

// index_bench [threads]
int main(int argc, char** argv) {
  wick::Bench bench(argc > 1 ? std::atoi(argv[1]) : 2);
  wick::selections(bench);
  wick::sorts(bench);
  wick::sums_and_numbers(bench);
  return 0;
}
