// The two halves of attention for single tokens, over the rows of a key/value cache as they lie.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wick::cpu {

// Rows of the cache, `stride` bytes apart, one for each position; they are prefetched `prefetch_distance` bytes ahead, 0: not at all.
struct CacheRows {
  const std::byte* data;
  int64_t stride;
  int64_t positions;
  int64_t prefetch_distance;
};

// Of one format of rows. Each row of width n is read once for up to four query heads.
struct CacheKernels {
  // scores[h · score_stride + p] = q[h] · key[p]; q row-major [heads, n].
  void (*scores)(const float* q, int64_t heads, int64_t n, const CacheRows& keys, float* scores, int64_t score_stride) = nullptr;
  // out[h] += Σ weights[h · weight_stride + p] · value[p]; out row-major [heads, n].
  void (*weighted_sum)(const float* weights, int64_t weight_stride, int64_t heads, int64_t n, const CacheRows& values,
                       float* out) = nullptr;
};

}  // namespace wick::cpu
