// Times ops that the memory bounds beside a copy by as many threads, measured in turns with them; bytes are counted once each, read and
// written. And ops on eight elements, with the allocations that they ask the C++ library for.
#include "elementwise_bench.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "wick/base/thread_pool.h"
#include "wick/device/device.h"
#include "wick/tensor/ops/normalize.h"
#include "wick/tensor/ops/unary.h"
#include "wick/tensor/tensor.h"

namespace {

std::atomic<int64_t> allocations{0};

}  // namespace

// The whole program counts.
void* operator new(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* block = std::malloc(bytes)) return block;
  throw std::bad_alloc();
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, size_t /*bytes*/) noexcept { std::free(block); }

namespace wick {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kSide = 4096;  // 4096² f32: 64 MiB

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// Copies 64 MiB from block to block, each thread its part: bytes read and written a second.
class CopyPeer {
 public:
  explicit CopyPeer(int threads) : pool_(threads), source_(kBytes, 1), target_(kBytes, 2) {}

  double measure() {
    const auto begin = Clock::now();
    pool_.parallel_for(static_cast<int64_t>(kBytes), 4096, [&](int64_t first, int64_t last) {
      std::memcpy(target_.data() + first, source_.data() + first, static_cast<size_t>(last - first));
    });
    return 2 * static_cast<double>(kBytes) / seconds_since(begin);
  }

 private:
  static constexpr size_t kBytes = size_t{64} << 20;
  ThreadPool pool_;
  std::vector<char> source_;
  std::vector<char> target_;
};

struct Inputs {
  Tensor x;
  Tensor y;
};

struct StreamCase {
  std::string name;
  DType dtype;
  std::function<Tensor(const Inputs&)> run;
  double inputs = 1;  // how many tensors of x's size are read
};

// 64 MiB of numbers in [low, low + 4).
Tensor numbers(DType dtype, float low, const Device& device) {
  std::vector<float> values(static_cast<size_t>(kSide * kSide * 4 / info(dtype).block_bytes));
  uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;  // Knuth's "quick and dirty" generator
    value = low + static_cast<float>(state >> 8) * 0x1p-22F;
  }
  return Tensor::from_vector(values, {static_cast<int64_t>(values.size()) / kSide, kSide}, device).to_dtype(dtype);
}

// Made once: Google Benchmark calls each case several times.
const Inputs& inputs_of(DType dtype, const Device& device) {
  static std::vector<std::pair<DType, Inputs>> made;
  for (const auto& [known, inputs] : made) {
    if (known == dtype) return inputs;
  }
  made.clear();
  return made.emplace_back(dtype, Inputs{numbers(dtype, -2, device), numbers(dtype, 1, device)}).second;
}

void run_stream(benchmark::State& state, const StreamCase& entry) {
  const auto threads = static_cast<int>(state.range(0));
  const Device device = Device::open({DeviceKind::cpu, 0}, {.threads = threads, .variant = {}});
  const Inputs& inputs = inputs_of(entry.dtype, device);
  static CopyPeer peer(threads);
  std::vector<double> copies;
  std::vector<double> rates;
  double bytes = entry.inputs * static_cast<double>(storage_bytes(entry.dtype, inputs.x.elements()));
  for (int warm = 0; warm < 3; ++warm) {
    const Tensor result = entry.run(inputs);
    if (warm == 0) bytes += static_cast<double>(storage_bytes(result.dtype(), result.elements()));
    (void)peer.measure();
  }
  for (auto _ : state) {
    state.PauseTiming();
    copies.push_back(peer.measure());
    state.ResumeTiming();
    const auto begin = Clock::now();
    benchmark::DoNotOptimize(entry.run(inputs));
    rates.push_back(bytes / seconds_since(begin));
  }
  state.counters["GB/s"] = median(rates) / 1e9;
  state.counters["copy"] = median(copies) / 1e9;
  state.counters["of_copy"] = median(rates) / median(copies);
}

std::vector<StreamCase> stream_cases() {
  const auto unary = [](UnaryKind kind) { return [kind](const Inputs& in) { return wick::unary({.kind = kind}, in.x); }; };
  const auto row = [](const Inputs& in) { return in.y.narrow(0, 0, 1); };
  const auto column = [](const Inputs& in) { return in.y.narrow(1, 0, 1); };
  const auto weight = [](const Inputs& in) { return in.y.get(0).to_dtype(DType::f32); };
  return {
      {"copy", DType::f32, [](const Inputs& in) { return in.x.copy(); }},
      {"transpose", DType::f32, [](const Inputs& in) { return in.x.t().contiguous(); }},
      {"neg", DType::f32, unary(UnaryKind::neg)},
      {"sqrt", DType::f32, unary(UnaryKind::sqrt)},
      {"exp", DType::f32, unary(UnaryKind::exp)},
      {"log", DType::f32, unary(UnaryKind::log)},
      {"sin", DType::f32, unary(UnaryKind::sin)},
      {"tanh", DType::f32, unary(UnaryKind::tanh)},
      {"erf", DType::f32, unary(UnaryKind::erf)},
      {"silu", DType::f32, unary(UnaryKind::silu)},
      {"gelu", DType::f32, unary(UnaryKind::gelu)},
      {"gelu_erf", DType::f32, unary(UnaryKind::gelu_erf)},
      {"exp", DType::f64, unary(UnaryKind::exp)},
      {"exp", DType::bf16, unary(UnaryKind::exp)},
      {"add", DType::f32, [](const Inputs& in) { return in.x + in.y; }, 2},
      {"mul", DType::f32, [](const Inputs& in) { return in.x * in.y; }, 2},
      {"div", DType::f32, [](const Inputs& in) { return in.x / in.y; }, 2},
      {"add", DType::bf16, [](const Inputs& in) { return in.x + in.y; }, 2},
      {"add", DType::f16, [](const Inputs& in) { return in.x + in.y; }, 2},
      {"add", DType::i32, [](const Inputs& in) { return in.x + in.y; }, 2},
      {"add", DType::u8, [](const Inputs& in) { return in.x + in.y; }, 2},
      {"add transposed", DType::f32, [](const Inputs& in) { return in.x + in.y.t(); }, 2},
      {"add row", DType::f32, [=](const Inputs& in) { return in.x + row(in); }},
      {"add column", DType::f32, [=](const Inputs& in) { return in.x + column(in); }},
      {"affine", DType::f32, [](const Inputs& in) { return in.x * 2.0; }},
      {"lt", DType::f32, [](const Inputs& in) { return in.x.lt(in.y); }, 2},
      {"where", DType::f32, [=](const Inputs& in) { return row(in).lt(2.0).where_cond(in.x, in.y); }, 2},
      {"to bf16", DType::f32, [](const Inputs& in) { return in.x.to_dtype(DType::bf16); }},
      {"to f32", DType::bf16, [](const Inputs& in) { return in.x.to_dtype(DType::f32); }},
      {"sum all", DType::f32, [](const Inputs& in) { return in.x.sum_all(); }},
      {"sum rows", DType::f32, [](const Inputs& in) { return in.x.sum(1); }},
      {"sum columns", DType::f32, [](const Inputs& in) { return in.x.sum(0); }},
      {"max all", DType::f32, [](const Inputs& in) { return in.x.max_all(); }},
      {"max rows", DType::f32, [](const Inputs& in) { return in.x.max(1); }},
      {"max columns", DType::f32, [](const Inputs& in) { return in.x.max(0); }},
      {"argmax rows", DType::f32, [](const Inputs& in) { return in.x.argmax(1); }},
      {"argmax columns", DType::f32, [](const Inputs& in) { return in.x.argmax(0); }},
      {"softmax", DType::f32, [](const Inputs& in) { return softmax(in.x, -1); }},
      {"log_softmax", DType::f32, [](const Inputs& in) { return log_softmax(in.x, -1); }},
      {"rms_norm", DType::f32, [=](const Inputs& in) { return rms_norm(in.x, weight(in), 1e-5F); }},
      {"layer_norm", DType::f32, [=](const Inputs& in) { return layer_norm(in.x, weight(in), weight(in), 1e-5F); }},
      {"softmax", DType::bf16, [](const Inputs& in) { return softmax(in.x, -1); }},
  };
}

struct SmallCase {
  std::string name;
  std::function<void(const Tensor&, const Tensor&)> run;
};

void run_small(benchmark::State& state, const SmallCase& entry) {
  const Device device = Device::cpu();
  const Tensor a = Tensor::of<float>({1, 2, 3, 4, 5, 6, 7, 8}, device);
  const Tensor b = Tensor::of<float>({8, 7, 6, 5, 4, 3, 2, 1}, device);
  for (int warm = 0; warm < 100; ++warm) entry.run(a, b);
  const int64_t before = allocations.load();
  for (auto _ : state) entry.run(a, b);
  state.counters["allocations"] = static_cast<double>(allocations.load() - before) / static_cast<double>(state.iterations());
}

}  // namespace

void register_elementwise_benchmarks() {
  for (const StreamCase& entry : stream_cases()) {
    const std::string name = "stream/" + entry.name + "/" + std::string(to_string(entry.dtype));
    benchmark::RegisterBenchmark(name.c_str(), [entry](benchmark::State& state) { run_stream(state, entry); })
        ->ArgNames({"threads"})
        ->Arg(2)
        ->Iterations(25)
        ->UseRealTime();
  }
  const std::vector<SmallCase> small = {
      {"a + b", [](const Tensor& a, const Tensor& b) { benchmark::DoNotOptimize(a + b); }},
      {"relu", [](const Tensor& a, const Tensor& /*b*/) { benchmark::DoNotOptimize(a.relu()); }},
      {"a * 2", [](const Tensor& a, const Tensor& /*b*/) { benchmark::DoNotOptimize(a * 2.0); }},
      {"exp", [](const Tensor& a, const Tensor& /*b*/) { benchmark::DoNotOptimize(a.exp()); }},
      {"sum_all", [](const Tensor& a, const Tensor& /*b*/) { benchmark::DoNotOptimize(a.sum_all()); }},
      {"softmax", [](const Tensor& a, const Tensor& /*b*/) { benchmark::DoNotOptimize(softmax(a, -1)); }},
  };
  for (const SmallCase& entry : small) {
    const std::string name = "eight/" + entry.name;
    benchmark::RegisterBenchmark(name.c_str(), [entry](benchmark::State& state) { run_small(state, entry); });
  }
}

}  // namespace wick
