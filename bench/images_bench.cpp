// Times convolutions beside the fused multiply-adds that the machine can do; bench/compare_torch runs the same beside PyTorch.
#include <benchmark/benchmark.h>

#include "matmul_bench.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

struct ConvCase {
  Shape x;
  Shape kernel;
  ConvParams params;
  bool transposed = false;
};

void run_conv(benchmark::State& state, const ConvCase& entry) {
  const auto threads = static_cast<int>(state.range(0));
  const Device device = Device::open({DeviceKind::cpu, 0}, {.threads = threads, .variant = {}});
  const Tensor x = random_tensor(entry.x, DType::f32, device);
  const Tensor kernel = random_tensor(entry.kernel, DType::f32, device);
  const auto run = [&] { return entry.transposed ? x.conv_transpose2d(kernel, entry.params) : x.conv2d(kernel, entry.params); };
  const Shape out = run().shape();
  // Each output element of a convolution, each input element of a transposed one, meets the kernel of its channel once.
  const int64_t products = (entry.transposed ? entry.x : out).elements() * entry.kernel.elements() / entry.kernel[0];
  time_beside_peak(state, threads, 2.0 * static_cast<double>(products), [&] { benchmark::DoNotOptimize(run()); });
}

}  // namespace

void register_image_benchmarks() {
  const std::vector<std::pair<std::string, ConvCase>> cases = {
      {"conv2d/3x3 64 to 64 of 56x56", {{8, 64, 56, 56}, {64, 64, 3, 3}, {.padding = {1, 1}}}},
      {"conv2d/3x3 64 to 128 of 56x56 stride 2", {{8, 64, 56, 56}, {128, 64, 3, 3}, {.padding = {1, 1}, .stride = {2, 2}}}},
      {"conv2d/3x3 512 to 512 of 7x7", {{8, 512, 7, 7}, {512, 512, 3, 3}, {.padding = {1, 1}}}},
      {"conv2d/1x1 256 to 64 of 56x56", {{8, 256, 56, 56}, {64, 256, 1, 1}, {}}},
      {"conv2d/7x7 3 to 64 of 224x224 stride 2", {{2, 3, 224, 224}, {64, 3, 7, 7}, {.padding = {3, 3}, .stride = {2, 2}}}},
      {"conv2d/3x3 depthwise 128 of 56x56", {{8, 128, 56, 56}, {128, 1, 3, 3}, {.padding = {1, 1}, .groups = 128}}},
      {"conv_transpose2d/4x4 64 to 32 of 28x28 stride 2", {{8, 64, 28, 28}, {64, 32, 4, 4}, {.padding = {1, 1}, .stride = {2, 2}}, true}},
  };
  for (const auto& [name, entry] : cases) {
    benchmark::RegisterBenchmark(name.c_str(), [entry = entry](benchmark::State& state) { run_conv(state, entry); })
        ->ArgNames({"threads"})
        ->Arg(1)
        ->Arg(2)
        ->UseRealTime();
  }
}

}  // namespace wick
