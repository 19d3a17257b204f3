// Times how fast the CPU prepares weights (Runtime::prepare_weight), read from memory and written to another place in memory.
// bytes_per_second counts each weight once.
#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "wick/quant/block_format.h"
#include "wick/tensor/ops/linear.h"

namespace wick {
namespace {

constexpr int64_t kColumns = 2048;
constexpr int64_t kMatrixBytes = 256 << 20;  // far more than any cache holds

std::vector<std::byte> random_bytes(size_t count) {
  std::vector<std::byte> bytes(count);
  std::mt19937 random(1);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

void prepare(benchmark::State& state, DType dtype, const Device& device) {
  static const std::vector<std::byte> source = random_bytes(kMatrixBytes);
  const int64_t rows = kMatrixBytes / storage_bytes(dtype, kColumns);
  const auto bytes = static_cast<size_t>(storage_bytes(dtype, rows * kColumns));
  for (auto _ : state) {
    const Tensor weight = Tensor::import_host(std::span(source).first(bytes), {rows, kColumns}, dtype, device, nullptr);
    // As if the bytes were a file's, which can be given back.
    prepare_weight(weight, {.release = [](size_t, size_t) {}});
    device.runtime().finish_preparing();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes));
}

void register_all() {
  const Device device = Device::open({DeviceKind::cpu, 0}, {.threads = 1});
  for (const BlockFormat& format : block_formats()) {
    if (format.dtype == DType::f32 || format.dtype == DType::q8_1 || format.dtype == DType::q8_k) continue;
    const std::string name = "prepare/" + std::string(to_string(format.dtype));
    benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { prepare(state, format.dtype, device); });
  }
}

}  // namespace
}  // namespace wick

int main(int argc, char** argv) {
  wick::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
