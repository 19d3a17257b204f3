// What the two ways of attention of many tokens share: a block of queries with its scores and sums, which meets one block of positions of
// the cache after another (attention.cpp), by products of f32 or, where the processor multiplies bf16 so much faster, of f32 split into
// sums of bf16 (attention_split.cpp).
#pragma once

#include <algorithm>

#include "wick/backend/cpu/cpu_runtime.h"

namespace wick::cpu {

// Scratch slots of a thread.
enum AttentionSlot : size_t { kScores = 8, kKeys, kValues, kOutput, kLargest, kRowSums, kQueries, kWide, kPartials, kSplit = 22 };

struct AttentionShapes {
  int64_t tokens, heads, width, kv_heads, group;
  int64_t past;
  float scale;
  bool precise;
  const Operand* key;
  const Operand* value;
  const float* query;
  float* out;

  [[nodiscard]] DType cache() const noexcept { return key->dtype; }
};

constexpr int64_t kKeyBlock = 128;  // positions whose keys and values are rearranged and used at once

// Scratch of one block of queries: rows = tokens × heads of one key/value head. There is room for a multiple of kSplitRows rows.
struct QueryBlock {
  int64_t first_token, tokens, rows;
  float* queries;  // [parts of the width, rows, kProductStride], scaled
  float* scores;   // [rows, kProductStride]
  float* output;   // [rows, width], not yet divided by the sum
  float* largest;  // [rows]
  float* sums;     // [rows]
  float* keys;     // panels [width, tile columns] of positions
  float* values;   // panels [kKeyBlock, tile columns] of the width
  float* wide;     // [kKeyBlock, width]
};

// How many of `count` positions from `first` on the row may see.
[[nodiscard]] inline int64_t visible_to(const AttentionShapes& s, const QueryBlock& block, int64_t row, int64_t first, int64_t count) {
  return std::clamp<int64_t>(s.past + block.first_token + row / s.group + 1 - first, 0, count);
}

// Rows [first, first + count) of a head of the cache as f32, [count, width].
void widen_cache(const SimdKernels& kernels, const Operand& cache, int64_t head, int64_t first, int64_t count, int64_t width, float* out);

// The block's operands as sums of bf16; words hold two neighbours in the sum.
struct SplitBlock {
  bool usable = false;
  int64_t depth = 0;                       // the width, rounded up to what a step of a sum takes
  std::array<bf16*, 2> queries{};          // [rows, depth]: high and low parts
  std::array<bf16*, 2> weights{};          // [rows, kKeyBlock]
  std::array<uint32_t*, 2> key_words{};    // [kKeyBlock / 16, depth / 2, 16]
  std::array<uint32_t*, 2> value_words{};  // [kKeyBlock / 2, width]
  std::array<bf16*, 2> rows{};             // [16, depth]: of the cache
};

[[nodiscard]] bool can_split(const SimdKernels& kernels, const AttentionShapes& s);
// Not usable where a query is no number, or too large for bf16.
[[nodiscard]] SplitBlock split_queries(const SimdKernels& kernels, Scratch& scratch, const AttentionShapes& s, const QueryBlock& block);
// False where a key or value of these positions is no number, or too large: a weight of zero would not keep it out of a sum.
[[nodiscard]] bool pack_cache_split(const SimdKernels& kernels, const AttentionShapes& s, int64_t kv_head, int64_t first, int64_t count,
                                    const QueryBlock& block, const SplitBlock& split);
// scores = queries · keysᵀ, as far as any row of a tile sees.
void score_positions_split(const SimdKernels& kernels, const AttentionShapes& s, const QueryBlock& block, const SplitBlock& split,
                           int64_t first, int64_t count);
// output += weights · values, each row as far as it sees.
void add_values_split(const SimdKernels& kernels, const AttentionShapes& s, const QueryBlock& block, const SplitBlock& split, int64_t first,
                      int64_t count);

}  // namespace wick::cpu
