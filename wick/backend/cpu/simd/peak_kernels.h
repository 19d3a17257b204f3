// Loops that do nothing but what a processor is fastest at: the bounds that kernels are measured against.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wick::cpu {

// Each returns the operations that `count` steps of its independent chains have done, a multiplication and its addition counting as two;
// nullptr where the processor has no such instruction.
struct PeakKernels {
  double (*f32)(int64_t count) = nullptr;   // fused multiply-adds
  double (*int8)(int64_t count) = nullptr;  // dot products of unsigned and signed bytes
  double (*bf16)(int64_t count) = nullptr;  // dot products of bf16
  // Reads everything once, in order, prefetching `prefetch_distance` bytes ahead unless that is 0; returns a number that depends on all
  // of it. bytes: a multiple of 1024.
  uint64_t (*read)(const std::byte* data, size_t bytes, int64_t prefetch_distance) = nullptr;
};

}  // namespace wick::cpu
