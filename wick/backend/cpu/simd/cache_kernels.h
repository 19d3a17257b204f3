// The two halves of attention for single tokens, over the rows of a key/value cache as they lie.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wick::cpu {

// Of one format of rows. Each row of width n, `stride` bytes from the next, is read once for up to four query heads.
struct CacheKernels {
  // scores[h · score_stride + p] = q[h] · key[p]; q row-major [heads, n].
  void (*scores)(const float* q, int64_t heads, int64_t n, const std::byte* keys, int64_t stride, int64_t positions, float* scores,
                 int64_t score_stride) = nullptr;
  // out[h] += Σ weights[h · weight_stride + p] · value[p]; out row-major [heads, n].
  void (*weighted_sum)(const float* weights, int64_t weight_stride, int64_t heads, int64_t n, const std::byte* values, int64_t stride,
                       int64_t positions, float* out) = nullptr;
};

}  // namespace wick::cpu
