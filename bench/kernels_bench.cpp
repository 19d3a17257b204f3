// Times the ops that a forward pass is made of, at the shapes of a 1-billion-parameter Llama, beside what the memory can give.
// bytes_per_second counts each weight once; items_per_second counts multiplications with their additions as one.
#include <benchmark/benchmark.h>

#include <cstring>
#include <random>

#include "elementwise_bench.h"
#include "matmul_bench.h"
#include "thread_pool_bench.h"
#include "wick/device/device.h"
#include "wick/quant/block_format.h"
#include "wick/tensor/ops/attention.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/ops/normalize.h"

namespace wick {
namespace {

constexpr int64_t kWidth = 2048;
constexpr int64_t kInner = 8192;

Device device_with(int64_t threads) { return Device::open({DeviceKind::cpu, 0}, {.threads = static_cast<int>(threads), .variant = {}}); }

// Small valid numbers in every format: zero scales would let a kernel skip work only if it cheated, but Inf and NaN slow some machines.
Tensor random_weight(const Shape& shape, DType dtype, const Device& device) {
  std::mt19937 generator(1);
  std::normal_distribution<float> normal(0.0F, 0.02F);
  std::vector<float> row(static_cast<size_t>(shape.last()));
  std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(dtype, shape.elements())));
  const size_t row_bytes = bytes.size() / static_cast<size_t>(shape[0]);
  for (float& value : row) value = normal(generator);
  find_block_format(dtype)->pack(row, bytes.data());
  for (size_t at = row_bytes; at < bytes.size(); at += row_bytes) std::memcpy(bytes.data() + at, bytes.data(), row_bytes);
  return Tensor::from_bytes(bytes, shape, dtype, device);
}

Tensor activations(int64_t rows, int64_t columns, const Device& device) {
  std::mt19937 generator(2);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(rows * columns));
  for (float& value : values) value = normal(generator);
  return Tensor::from_vector(values, {rows, columns}, device);
}

// Eight matrices in turn, so that none is in the cache when it is read again.
void linear_rows(benchmark::State& state, DType dtype) {
  const Device device = device_with(state.range(1));
  const int64_t rows = state.range(0);
  std::vector<Tensor> weights;
  for (int copy = 0; copy < 8; ++copy) prepare_weight(weights.emplace_back(random_weight({kInner, kWidth}, dtype, device)));
  device.runtime().finish_preparing();
  const Tensor x = activations(rows, kWidth, device);
  size_t next = 0;
  for (auto _ : state) benchmark::DoNotOptimize(linear(x, weights[next++ % weights.size()]));
  const auto calls = static_cast<int64_t>(state.iterations());
  state.SetBytesProcessed(calls * storage_bytes(dtype, kInner * kWidth));
  state.SetItemsProcessed(calls * kInner * kWidth * rows);
}

void attention_rows(benchmark::State& state) {
  const Device device = device_with(state.range(2));
  const int64_t tokens = state.range(0);
  const int64_t past = state.range(1);
  const Tensor query = activations(tokens, 32 * 64, device).reshape({tokens, 32, 64});
  const Tensor cache = Tensor::full({8, past + tokens, 64}, 0.5, DType::f16, device);
  for (auto _ : state) benchmark::DoNotOptimize(attention(query, cache, cache, {0.125F, past}));
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * tokens * 32 * 64 * 2 * (past + tokens / 2));
}

void rms_norm_rows(benchmark::State& state) {
  const Device device = device_with(state.range(1));
  const Tensor x = activations(state.range(0), kWidth, device);
  const Tensor weight = Tensor::full({kWidth}, 1, DType::f32, device);
  for (auto _ : state) benchmark::DoNotOptimize(rms_norm(x, weight, 1e-5F));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * state.range(0) * kWidth * 8);
}

// The ceiling for decode: 1 GiB read from end to end by each number of threads.
void read_memory(benchmark::State& state) {
  const Device device = device_with(state.range(0));
  const int64_t elements = int64_t{1} << 28;
  const Tensor values = Tensor::full({1, elements}, 1, DType::f32, device);
  const Tensor row = Tensor::full({1, 4096}, 1, DType::f32, device);
  const Tensor matrix = values.reshape({elements / 4096, 4096});
  for (auto _ : state) benchmark::DoNotOptimize(linear(row, matrix));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * elements * 4);
}

void register_all() {
  for (const DType dtype : {DType::q8_0, DType::q4_0, DType::q4_k, DType::q5_k, DType::q6_k, DType::f16, DType::bf16, DType::f32}) {
    const std::string name = "linear/" + std::string(to_string(dtype));
    benchmark::RegisterBenchmark(name.c_str(), [dtype](benchmark::State& state) { linear_rows(state, dtype); })
        ->ArgNames({"rows", "threads"})
        ->ArgsProduct({{1, 8, 256}, {1, 2}})
        ->UseRealTime();
  }
  benchmark::RegisterBenchmark("attention", attention_rows)
      ->ArgNames({"tokens", "past", "threads"})
      ->Args({1, 512, 2})
      ->Args({1, 4096, 2})
      ->Args({256, 0, 2})
      ->Args({256, 2048, 2})
      ->UseRealTime();
  benchmark::RegisterBenchmark("rms_norm", rms_norm_rows)->ArgNames({"rows", "threads"})->Args({1, 1})->Args({256, 2})->UseRealTime();
  benchmark::RegisterBenchmark("read_memory", read_memory)->ArgNames({"threads"})->Arg(1)->Arg(2)->UseRealTime();
}

}  // namespace
}  // namespace wick

int main(int argc, char** argv) {
  wick::register_all();
  wick::register_elementwise_benchmarks();
  wick::register_matmul_benchmarks();
  wick::register_image_benchmarks();
  wick::register_thread_pool_benchmarks();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
