// Causal attention over a key/value cache. Shared key/value heads are read in place, scores are never materialised for more than a
// block of queries, and the softmax runs online: when the largest score of a row grows, what was summed before is rescaled
// (Milakov & Gimelshein 2018).
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/cpu/cpu_runtime.h"
#include "backend/cpu/op_table.h"

namespace wick::cpu {
namespace {

constexpr int64_t kKeyBlock = 64;     // positions whose keys and values are widened and reused at once
constexpr int64_t kQueryTokens = 32;  // tokens of a block; each brings all query heads of its key/value head

enum Slot : size_t { kScores = 8, kKeys, kValues, kOutput, kLargest, kSums, kQueries };

struct Shapes {
  int64_t tokens, heads, width, kv_heads, group;
  int64_t past;
  float scale;
  const Operand* key;
  const Operand* value;
  const float* query;
  float* out;
};

Shapes shapes_of(const OpCall& call) {
  const auto& params = call.parameters<AttentionParams>();
  const Shape& query = call.inputs[0].layout->shape();
  const int64_t kv_heads = call.inputs[1].layout->shape()[0];
  return {query[0],
          query[1],
          query[2],
          kv_heads,
          query[1] / kv_heads,
          params.past,
          params.scale,
          &call.inputs[1],
          &call.inputs[2],
          data_of<const float>(call.inputs[0]),
          data_of<float>(call.outputs[0])};
}

// The cache row of (head, position); rows are contiguous (checked in run_attention).
template <class T>
const T* cache_row(const Operand& cache, int64_t head, int64_t position) {
  return data_of<const T>(cache) + head * cache.layout->stride(0) + position * cache.layout->stride(1);
}

// One token: each head's scores fit in a row, so a plain softmax does.
template <class T>
void attend_one(const SimdKernels& kernels, Scratch& scratch, const Shapes& s, int64_t kv_head) {
  constexpr bool kHalf = sizeof(T) == 2;
  const int64_t positions = s.past + 1;
  const int64_t first_head = kv_head * s.group;
  auto* scores = scratch.get<float>(kScores, static_cast<size_t>(s.group * positions));
  float* out = s.out + first_head * s.width;
  const float* query = s.query + first_head * s.width;
  const T* keys = cache_row<T>(*s.key, kv_head, 0);
  const T* values = cache_row<T>(*s.value, kv_head, 0);
  if constexpr (kHalf) {
    kernels.scores_f16(query, s.group, s.width, keys, s.key->layout->stride(1), positions, scores, positions);
  } else {
    kernels.scores_f32(query, s.group, s.width, keys, s.key->layout->stride(1), positions, scores, positions);
  }
  for (int64_t head = 0; head < s.group; ++head) {
    float* row = scores + head * positions;
    kernels.scale(row, s.scale, static_cast<size_t>(positions));
    kernels.softmax(row, row, static_cast<size_t>(positions));
  }
  std::fill_n(out, s.group * s.width, 0.0F);
  if constexpr (kHalf) {
    kernels.weighted_sum_f16(scores, positions, s.group, s.width, values, s.value->layout->stride(1), positions, out);
  } else {
    kernels.weighted_sum_f32(scores, positions, s.group, s.width, values, s.value->layout->stride(1), positions, out);
  }
}

// Scratch of one block of queries: rows = tokens × heads of one key/value head.
struct QueryBlock {
  int64_t first_token, tokens, rows;
  float* queries;  // [rows, width], scaled
  float* scores;   // [rows, kKeyBlock]
  float* output;   // [rows, width], not yet divided by the sum
  float* largest;  // [rows]
  float* sums;     // [rows]
  float* keys;     // [width, kKeyBlock], transposed
  float* values;   // [kKeyBlock, width]
};

QueryBlock make_block(const SimdKernels& kernels, Scratch& scratch, const Shapes& s, int64_t kv_head, int64_t first_token) {
  const int64_t tokens = std::min(kQueryTokens, s.tokens - first_token);
  const int64_t rows = tokens * s.group;
  const auto area = static_cast<size_t>(rows * s.width);
  QueryBlock block{first_token,
                   tokens,
                   rows,
                   scratch.get<float>(kQueries, area),
                   scratch.get<float>(kScores, static_cast<size_t>(rows * kKeyBlock)),
                   scratch.get<float>(kOutput, area),
                   scratch.get<float>(kLargest, static_cast<size_t>(rows)),
                   scratch.get<float>(kSums, static_cast<size_t>(rows)),
                   scratch.get<float>(kKeys, static_cast<size_t>(s.width * kKeyBlock)),
                   scratch.get<float>(kValues, static_cast<size_t>(s.width * kKeyBlock))};
  for (int64_t token = 0; token < tokens; ++token) {
    const float* source = s.query + ((first_token + token) * s.heads + kv_head * s.group) * s.width;
    std::copy_n(source, s.group * s.width, block.queries + token * s.group * s.width);
  }
  kernels.scale(block.queries, s.scale, area);
  std::fill_n(block.output, area, 0.0F);
  std::fill_n(block.sums, rows, 0.0F);
  std::fill_n(block.largest, rows, -std::numeric_limits<float>::infinity());
  return block;
}

template <class T>
void widen_cache(const SimdKernels& kernels, const Shapes& s, int64_t kv_head, int64_t first, int64_t count, QueryBlock& block) {
  const auto width = static_cast<size_t>(s.width);
  for (int64_t position = 0; position < count; ++position) {
    float* value = block.values + position * s.width;
    const T* key_source = cache_row<T>(*s.key, kv_head, first + position);
    const T* value_source = cache_row<T>(*s.value, kv_head, first + position);
    if constexpr (sizeof(T) == 2) {
      // The value's row serves as the place to widen the key before it is transposed.
      kernels.f16_to_f32(reinterpret_cast<const uint16_t*>(key_source), value, width);
      for (int64_t i = 0; i < s.width; ++i) block.keys[i * kKeyBlock + position] = value[i];
      kernels.f16_to_f32(reinterpret_cast<const uint16_t*>(value_source), value, width);
    } else {
      for (int64_t i = 0; i < s.width; ++i) block.keys[i * kKeyBlock + position] = key_source[i];
      std::copy_n(value_source, s.width, value);
    }
  }
}

// output += weights · values over the positions [first, first + count). A token's rows stop at what it sees: a weight of zero would
// not keep out the Inf or NaN of a later position.
void add_values(const SimdKernels& kernels, const Shapes& s, QueryBlock& block, int64_t first, int64_t count) {
  const auto add = [&](int64_t row, int64_t rows, int64_t visible) {
    kernels.multiply_matrix(block.scores + row * kKeyBlock, kKeyBlock, block.values, s.width, block.output + row * s.width, s.width, rows,
                            s.width, visible, true);
  };
  const int64_t seen_by_first_token = s.past + block.first_token + 1 - first;
  if (seen_by_first_token >= count) return add(0, block.rows, count);
  for (int64_t token = 0; token < block.tokens; ++token) {
    const int64_t visible = std::min(count, seen_by_first_token + token);
    if (visible > 0) add(token * s.group, s.group, visible);
  }
}

// Adds the positions [first, first + count) to every row of the block.
void add_positions(const SimdKernels& kernels, const Shapes& s, QueryBlock& block, int64_t first, int64_t count) {
  kernels.multiply_matrix(block.queries, s.width, block.keys, kKeyBlock, block.scores, kKeyBlock, block.rows, count, s.width, false);
  for (int64_t row = 0; row < block.rows; ++row) {
    const int64_t visible = std::min(count, s.past + block.first_token + row / s.group + 1 - first);
    float* scores = block.scores + row * kKeyBlock;
    if (visible <= 0) continue;
    const float largest = std::max(block.largest[row], kernels.largest(scores, static_cast<size_t>(visible)));
    if (largest > block.largest[row]) {
      const float factor = std::exp(block.largest[row] - largest);
      kernels.scale(block.output + row * s.width, factor, static_cast<size_t>(s.width));
      block.sums[row] *= factor;
      block.largest[row] = largest;
    }
    block.sums[row] += kernels.exp_and_sum(scores, largest, scores, static_cast<size_t>(visible));
  }
  add_values(kernels, s, block, first, count);
}

template <class T>
void attend_block(const SimdKernels& kernels, Scratch& scratch, const Shapes& s, int64_t kv_head, int64_t first_token) {
  QueryBlock block = make_block(kernels, scratch, s, kv_head, first_token);
  const int64_t positions = s.past + first_token + block.tokens;
  for (int64_t first = 0; first < positions; first += kKeyBlock) {
    const int64_t count = std::min(kKeyBlock, positions - first);
    widen_cache<T>(kernels, s, kv_head, first, count, block);
    add_positions(kernels, s, block, first, count);
  }
  for (int64_t row = 0; row < block.rows; ++row) {
    float* out = s.out + ((first_token + row / s.group) * s.heads + kv_head * s.group + row % s.group) * s.width;
    std::copy_n(block.output + row * s.width, s.width, out);
    kernels.scale(out, 1.0F / block.sums[row], static_cast<size_t>(s.width));
  }
}

template <class T>
void run_attention(const OpCall& call) {
  const Shapes s = shapes_of(call);
  CpuRuntime& runtime = runtime_of(call);
  const int64_t blocks = s.tokens == 1 ? 1 : (s.tokens + kQueryTokens - 1) / kQueryTokens;
  runtime.threads().run([&](int thread, int threads) {
    // Later blocks see more positions, so threads take them in turns instead of in halves.
    for (int64_t task = thread; task < s.kv_heads * blocks; task += threads) {
      const int64_t kv_head = task % s.kv_heads;
      if (s.tokens == 1) {
        attend_one<T>(runtime.kernels(), runtime.scratch(thread), s, kv_head);
      } else {
        attend_block<T>(runtime.kernels(), runtime.scratch(thread), s, kv_head, task / s.kv_heads * kQueryTokens);
      }
    }
  });
}

}  // namespace

void attention_f16(const OpCall& call) { run_attention<f16>(call); }
void attention_f32(const OpCall& call) { run_attention<float>(call); }

}  // namespace wick::cpu
