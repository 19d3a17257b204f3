// The two halves of attention for single tokens, over the rows of a key/value cache as they lie.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wick/backend/cpu/matrix_view.h"

namespace wick::cpu {

// Rows of the cache, `stride` bytes apart, one for each position; they are prefetched `prefetch_distance` bytes ahead, 0: not at all.
struct CacheRows {
  const std::byte* data;
  int64_t stride;
  int64_t positions;
  int64_t prefetch_distance;
};

// Kernels for one format of rows. Each row is read once for up to four query heads.
struct CacheKernels {
  // scores [heads, positions] = queries [heads, width] · keysᵀ.
  void (*scores)(const MatrixView<const float>& queries, const CacheRows& keys, const MatrixView<float>& scores) = nullptr;
  // out [heads, width] += weights [heads, positions] · values.
  void (*weighted_sum)(const MatrixView<const float>& weights, const CacheRows& values, const MatrixView<float>& out) = nullptr;
};

}  // namespace wick::cpu
