// Times matrix products beside the fused multiply-adds that the machine can do, measured in turns with them.
#include "matmul_bench.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/base/thread_pool.h"
#include "wick/device/device.h"
#include "wick/tensor/ops/matmul.h"

namespace wick {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// f32 operations a second of that many threads that do nothing but independent fused multiply-adds, for some milliseconds.
double measure_peak(ThreadPool& pool) {
  const cpu::SimdKernels& kernels = cpu::simd_kernels(cpu::usable_instruction_sets().back());
  std::vector<double> operations(static_cast<size_t>(pool.size()));
  const auto begin = Clock::now();
  pool.run([&](int index, int) { operations[static_cast<size_t>(index)] = kernels.peaks.f32(400000); });
  double total = 0;
  for (const double part : operations) total += part;
  return total / seconds_since(begin);
}

struct MatmulCase {
  DType dtype;
  int64_t m, k, n;
  bool left_transposed = false;
  bool right_transposed = false;
};

void run_matmul(benchmark::State& state, const MatmulCase& entry) {
  const auto threads = static_cast<int>(state.range(0));
  const Device device = Device::open({DeviceKind::cpu, 0}, {.threads = threads, .variant = {}});
  const Tensor left = entry.left_transposed ? random_tensor({entry.k, entry.m}, entry.dtype, device).transpose(0, 1)
                                            : random_tensor({entry.m, entry.k}, entry.dtype, device);
  const Tensor right = entry.right_transposed ? random_tensor({entry.n, entry.k}, entry.dtype, device).transpose(0, 1)
                                              : random_tensor({entry.k, entry.n}, entry.dtype, device);
  time_beside_peak(state, threads, 2.0 * static_cast<double>(entry.m * entry.k * entry.n),
                   [&] { benchmark::DoNotOptimize(matmul(left, right)); });
}

}  // namespace

Tensor random_tensor(const Shape& shape, DType dtype, const Device& device) {
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (float& value : values) value = normal(generator);
  return Tensor::from_vector(values, shape, device).to_dtype(dtype);
}

void time_beside_peak(benchmark::State& state, int threads, double operations, const std::function<void()>& run) {
  ThreadPool pool(threads);
  std::vector<double> peaks;
  std::vector<double> rates;
  double since_peak = 1;
  for (auto _ : state) {
    if (since_peak > 0.02) {
      state.PauseTiming();
      peaks.push_back(measure_peak(pool));
      since_peak = 0;
      state.ResumeTiming();
    }
    const auto begin = Clock::now();
    run();
    const double seconds = seconds_since(begin);
    since_peak += seconds;
    rates.push_back(operations / seconds);
  }
  state.counters["seconds"] = operations / median(rates);
  state.counters["GFLOPS"] = median(rates) / 1e9;
  state.counters["peak"] = median(peaks) / 1e9;
  state.counters["of_peak"] = median(rates) / median(peaks);
}

void register_matmul_benchmarks() {
  const std::vector<MatmulCase> cases = {
      {DType::f32, 1024, 1024, 1024},
      {DType::f32, 1024, 1024, 1024, false, true},
      {DType::f32, 1024, 1024, 1024, true, false},
      {DType::f32, 4096, 4096, 64},
      {DType::f32, 64, 4096, 4096},
      {DType::f32, 64, 4096, 4096, false, true},
      {DType::f32, 4096, 64, 4096},
      {DType::f32, 256, 256, 256},
      {DType::f32, 64, 64, 64},
      {DType::f32, 8, 8, 8},
      {DType::f32, 1, 4096, 4096},
      {DType::f32, 1, 4096, 4096, false, true},
      {DType::f32, 4096, 4096, 1},
      {DType::bf16, 1024, 1024, 1024},
      {DType::bf16, 1024, 1024, 1024, false, true},
      {DType::f16, 1024, 1024, 1024},
      {DType::f8e4m3, 1024, 1024, 1024},
      {DType::f64, 1024, 1024, 1024},
  };
  for (const MatmulCase& entry : cases) {
    const std::string name = "matmul/" + std::string(to_string(entry.dtype)) + "/m:" + std::to_string(entry.m) +
                             (entry.left_transposed ? "T" : "") + "/k:" + std::to_string(entry.k) + "/n:" + std::to_string(entry.n) +
                             (entry.right_transposed ? "T" : "");
    benchmark::RegisterBenchmark(name.c_str(), [entry](benchmark::State& state) { run_matmul(state, entry); })
        ->ArgNames({"threads"})
        ->Arg(1)
        ->Arg(2)
        ->UseRealTime();
  }
}

}  // namespace wick
