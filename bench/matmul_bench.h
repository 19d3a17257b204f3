// The benchmarks of matrix products and convolutions, and what they share.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>

#include "wick/tensor/tensor.h"

namespace wick {

void register_matmul_benchmarks();
void register_image_benchmarks();

// Normally distributed numbers.
[[nodiscard]] Tensor random_tensor(const Shape& shape, DType dtype, const Device& device);
// Times `run` in turns with nothing but fused multiply-adds on as many threads. Counters, all medians: seconds, GFLOPS, peak, and
// of_peak, their ratio.
void time_beside_peak(benchmark::State& state, int threads, double operations, const std::function<void()>& run);

}  // namespace wick
