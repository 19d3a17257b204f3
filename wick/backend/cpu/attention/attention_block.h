// A block of queries with scores and sums, for both implementations of attention over many tokens. It meets one block of positions of
// the cache after another (attention.cpp), by products of f32 or, where the processor multiplies bf16 so much faster, of f32 split into
// sums of bf16 (attention_split.cpp).
#pragma once

#include <algorithm>

#include "wick/backend/cpu/cpu_runtime.h"
#include "wick/op/attention_plan.h"

namespace wick::cpu {

// One sequence of a call.
struct AttentionSequence {
  int64_t first_token, tokens, length;
  const int32_t* table;  // where its blocks are

  [[nodiscard]] int64_t position_of(int64_t token) const noexcept { return length - tokens + token; }
};

struct AttentionShapes {
  int64_t heads, width, value_width, kv_heads, group;
  const AttentionParams* params;
  const Operand* key;
  const Operand* value;
  const float* query;
  float* out;
  float* log_sum_exp;   // nullptr: nobody asks for it
  const float* sinks;   // or nullptr
  const float* slopes;  // or nullptr
  const Operand* mask;  // or nullptr

  [[nodiscard]] DType cache() const noexcept { return key->dtype; }
  [[nodiscard]] int64_t place(int64_t token, int64_t head) const noexcept { return token * heads + head; }
};

// Calls body(offset, slot, count) for runs of positions of [first, first + count) whose slots are neighbours; `offset` counts from `first`.
template <class Body>
void for_each_run(const AttentionShapes& s, const AttentionSequence& sequence, int64_t first, int64_t count, const Body& body) {
  const int64_t size = s.params->block_size;
  for (int64_t at = 0; at < count;) {
    const int64_t block = (first + at) / size, within = (first + at) % size;
    int64_t end = size - within, last = block;
    while (at + end < count && sequence.table[last + 1] == sequence.table[last] + 1) {
      end += size;
      ++last;
    }
    const int64_t run = std::min(end, count - at);
    body(at, sequence.table[block] * size + within, run);
    at += run;
  }
}

constexpr int64_t kKeyBlock = 128;  // positions whose keys and values are rearranged and used at once

// Scratch of one block of queries: rows = tokens × heads of one key/value head. There is room for a multiple of kSplitRows rows.
struct QueryBlock {
  const AttentionSequence* sequence;
  int64_t kv_head, first_token, tokens, rows;  // tokens of the sequence
  float* queries;                              // [parts of the width, rows, kProductStride], scaled
  float* scores;                               // [rows, kProductStride]
  float* output;                               // [rows, value width], not yet divided by the sum
  float* largest;                              // [rows]
  float* sums;                                 // [rows]
  float* keys;                                 // panels [width, tile columns] of positions
  float* values;                               // panels [kKeyBlock, tile columns] of the value width
  float* wide;                                 // [kKeyBlock, the larger width]

  [[nodiscard]] int64_t token_of(const AttentionShapes& s, int64_t row) const noexcept { return first_token + row / s.group; }
  [[nodiscard]] int64_t head_of(const AttentionShapes& s, int64_t row) const noexcept { return kv_head * s.group + row % s.group; }
};

// Which of `count` positions from `first` on the row sees, counted from `first`.
[[nodiscard]] inline PositionRange seen_by(const AttentionShapes& s, const QueryBlock& block, int64_t row, int64_t first, int64_t count) {
  const AttentionSequence& sequence = *block.sequence;
  const PositionRange range = visible_positions(*s.params, sequence.position_of(block.token_of(s, row)), sequence.length);
  const int64_t end = std::clamp<int64_t>(range.end - first, 0, count);
  return {std::clamp<int64_t>(range.begin - first, 0, end), end};
}

// Positions [first, first + count) of the block's sequence and head as f32, [count, the cache's width].
void widen_cache(const SimdKernels& kernels, const AttentionShapes& s, const Operand& cache, int64_t first, int64_t count,
                 const QueryBlock& block);

// The block's operands as sums of bf16; words hold two neighbours in the sum.
struct SplitBlock {
  bool usable = false;
  int64_t depth = 0;                       // the width, rounded up to what a step of a sum takes
  int64_t row_depth = 0;                   // the same of the larger width
  std::array<bf16*, 2> queries{};          // [rows, depth]: high and low parts
  std::array<bf16*, 2> weights{};          // [rows, kKeyBlock]
  std::array<uint32_t*, 2> key_words{};    // [kKeyBlock / 16, depth / 2, 16]
  std::array<uint32_t*, 2> value_words{};  // [kKeyBlock / 2, value width]
  std::array<bf16*, 2> rows{};             // [16, row_depth]: of the cache
};

[[nodiscard]] bool can_split(const SimdKernels& kernels, const AttentionShapes& s);
// Not usable where a query is no number, or too large for bf16.
[[nodiscard]] SplitBlock split_queries(const SimdKernels& kernels, ScratchFrame& frame, const AttentionShapes& s, const QueryBlock& block);
// False where a key or value of these positions is no number, or too large: a weight of zero would not keep it out of a sum.
[[nodiscard]] bool pack_cache_split(const SimdKernels& kernels, const AttentionShapes& s, int64_t first, int64_t count,
                                    const QueryBlock& block, const SplitBlock& split);
// scores = queries · keysᵀ, as far as any row of a tile sees.
void score_positions_split(const SimdKernels& kernels, const AttentionShapes& s, const QueryBlock& block, const SplitBlock& split,
                           int64_t first, int64_t count);
// output += weights · values, each row as far as it sees.
void add_values_split(const SimdKernels& kernels, const AttentionShapes& s, const QueryBlock& block, const SplitBlock& split, int64_t first,
                      int64_t count);

}  // namespace wick::cpu
