// Causal attention over a key/value cache. Shared key/value heads are read in place, scores are never materialised for more than a
// block of queries and keys, and the softmax runs online: when the largest score of a row grows, what was summed before is rescaled
// (Milakov & Gimelshein 2018).
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "wick/backend/cpu/attention_block.h"
#include "wick/backend/cpu/convert.h"
#include "wick/backend/cpu/op_table.h"

namespace wick::cpu {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

using Shapes = AttentionShapes;

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
          params.precise,
          &call.inputs[1],
          &call.inputs[2],
          data_of<const float>(call.inputs[0]),
          data_of<float>(call.outputs[0])};
}

const CacheKernels& cache_kernels(const SimdKernels& kernels, DType cache) {
  if (cache == DType::f16) return kernels.cache_f16;
  if (cache == DType::bf16) return kernels.cache_bf16;
  return cache == DType::q8_0 ? kernels.cache_q8_0 : kernels.cache_f32;
}

// The cache row of (head, position), and the bytes from one position to the next. Rows are contiguous (tensor/ops sees to it), so that a
// row of blocks starts with a block.
const std::byte* cache_row(const Operand& cache, int64_t head, int64_t position) {
  const Layout& layout = *cache.layout;
  return cache.buffer->host_data() + storage_bytes(cache.dtype, layout.offset() + head * layout.stride(0) + position * layout.stride(1));
}
int64_t row_stride(const Operand& cache) { return storage_bytes(cache.dtype, cache.layout->stride(1)); }

// Runs body(scratch, task) for every task, each on whichever thread is free first. What a task computes does not depend on the thread.
template <class Body>
void take_turns(CpuRuntime& runtime, int64_t tasks, const Body& body) {
  std::atomic<int64_t> next{0};
  runtime.threads().run([&](int thread, int /*threads*/) {
    for (int64_t task = next.fetch_add(1); task < tasks; task = next.fetch_add(1)) body(runtime.scratch(thread), task);
  });
}

// --- A few tokens: each row of the cache is read where it lies, in runs of positions that threads share ---

// More tokens are worth the rearranging of keys.
constexpr int64_t kFewTokens = 4;
constexpr int64_t kRun = 512;

// What one run of positions adds to one head's result: Σ e^(score - largest) · value in `out` and the sum of the weights.
struct Partials {
  float* largest;  // [runs, tokens · heads]
  float* sums;
  float* out;  // [runs, tokens · heads, width]
};

void attend_run(const SimdKernels& kernels, Scratch& scratch, const Shapes& s, int64_t kv_head, int64_t run, const Partials& partials) {
  const CacheKernels& cache = cache_kernels(kernels, s.cache());
  const int64_t first = run * kRun;
  auto* scores = scratch.get<float>(kScores, static_cast<size_t>(s.group * kRun));
  auto* query = scratch.get<float>(kQueries, static_cast<size_t>(s.group * s.width));
  for (int64_t token = 0; token < s.tokens; ++token) {
    const int64_t positions = std::min(kRun, s.past + token + 1 - first);
    if (positions <= 0) continue;
    const int64_t head = token * s.heads + kv_head * s.group;
    const int64_t place = run * s.tokens * s.heads + head;
    std::copy_n(s.query + head * s.width, s.group * s.width, query);
    kernels.scale(query, s.scale, static_cast<size_t>(s.group * s.width));
    cache.scores(query, s.group, s.width, cache_row(*s.key, kv_head, first), row_stride(*s.key), positions, scores, kRun);
    for (int64_t row = 0; row < s.group; ++row) {
      float* weights = scores + row * kRun;
      const float largest = kernels.largest(weights, static_cast<size_t>(positions));
      partials.largest[place + row] = largest;
      partials.sums[place + row] = kernels.exp_and_sum(weights, largest, weights, static_cast<size_t>(positions));
    }
    float* out = partials.out + place * s.width;
    std::fill_n(out, s.group * s.width, 0.0F);
    cache.weighted_sum(scores, kRun, s.group, s.width, cache_row(*s.value, kv_head, first), row_stride(*s.value), positions, out);
  }
}

// The runs of one row brought to their common largest score and added up.
void join_runs(const Shapes& s, const Partials& partials, int64_t row) {
  const int64_t rows = s.tokens * s.heads;
  const int64_t runs = (s.past + row / s.heads) / kRun + 1;
  float* out = s.out + row * s.width;
  float largest = kNone;
  for (int64_t run = 0; run < runs; ++run) largest = std::max(largest, partials.largest[run * rows + row]);
  std::fill_n(out, s.width, 0.0F);
  float sum = 0;
  for (int64_t run = 0; run < runs; ++run) {
    const int64_t place = run * rows + row;
    const float factor = std::exp(partials.largest[place] - largest);
    sum += factor * partials.sums[place];
    for (int64_t i = 0; i < s.width; ++i) out[i] += factor * partials.out[place * s.width + i];
  }
  for (int64_t i = 0; i < s.width; ++i) out[i] /= sum;
}

void attend_few(CpuRuntime& runtime, const Shapes& s) {
  const int64_t runs = (s.past + s.tokens + kRun - 1) / kRun;
  const int64_t rows = s.tokens * s.heads;
  auto* memory = runtime.scratch(0).get<float>(kPartials, static_cast<size_t>(runs * rows * (s.width + 2)));
  const Partials partials{memory, memory + runs * rows, memory + 2 * runs * rows};
  take_turns(runtime, s.kv_heads * runs,
             [&](Scratch& scratch, int64_t task) { attend_run(runtime.kernels(), scratch, s, task / runs, task % runs, partials); });
  for (int64_t row = 0; row < rows; ++row) join_runs(s, partials, row);
}

// --- Many tokens: blocks of queries times blocks of keys and values, widened and rearranged for the register tile ---

// About as many rows as a block of queries has; a row is a token's query head. Where products are quick, the rearranging is shared by more.
constexpr int64_t kBlockRows = 128;
constexpr int64_t kSplitBlockRows = 256;

int64_t panels_of(int64_t extent, int64_t columns) { return (extent + columns - 1) / columns; }

int64_t tokens_of_block(const SimdKernels& kernels, const Shapes& s) {
  if (can_split(kernels, s)) return std::clamp<int64_t>(kSplitBlockRows / s.group, 8, 128);
  return std::clamp<int64_t>(kBlockRows / s.group, 8, 64);
}

QueryBlock make_block(const SimdKernels& kernels, Scratch& scratch, const Shapes& s, int64_t kv_head, int64_t first_token) {
  const int64_t tokens = std::min(tokens_of_block(kernels, s), s.tokens - first_token);
  const int64_t rows = tokens * s.group;
  const int64_t columns = kernels.product.f32.columns;
  const int64_t room = panels_of(rows, kSplitRows) * kSplitRows;
  // The tile may read one row more.
  const auto packed = static_cast<size_t>((room + 1) * kProductStride);
  const int64_t parts = panels_of(s.width, kProductDepth);
  QueryBlock block{first_token,
                   tokens,
                   rows,
                   scratch.get<float>(kQueries, static_cast<size_t>(parts) * packed),
                   scratch.get<float>(kScores, packed),
                   scratch.get<float>(kOutput, static_cast<size_t>(room * s.width)),
                   scratch.get<float>(kLargest, static_cast<size_t>(rows)),
                   scratch.get<float>(kRowSums, static_cast<size_t>(rows)),
                   scratch.get<float>(kKeys, static_cast<size_t>(panels_of(kKeyBlock, columns) * columns * s.width)),
                   scratch.get<float>(kValues, static_cast<size_t>(panels_of(s.width, columns) * columns * kKeyBlock)),
                   scratch.get<float>(kWide, static_cast<size_t>(kKeyBlock * s.width))};
  for (int64_t row = 0; row < rows; ++row) {
    const float* source = s.query + ((first_token + row / s.group) * s.heads + kv_head * s.group + row % s.group) * s.width;
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t width = std::min(kProductDepth, s.width - part * kProductDepth);
      float* query = block.queries + (part * rows + row) * kProductStride;
      std::copy_n(source + part * kProductDepth, width, query);
      kernels.scale(query, s.scale, static_cast<size_t>(width));
    }
  }
  std::fill_n(block.output, rows * s.width, 0.0F);
  std::fill_n(block.sums, rows, 0.0F);
  std::fill_n(block.largest, rows, kNone);
  return block;
}

// Keys as right panels of queries · keysᵀ, values as right panels of weights · values.
void pack_cache(const SimdKernels& kernels, const Shapes& s, int64_t kv_head, int64_t first, int64_t count, QueryBlock& block) {
  const ProductTile<float, float>& tile = kernels.product.f32;
  widen_cache(kernels, *s.key, kv_head, first, count, s.width, block.wide);
  for (int64_t position = 0; position < count; position += tile.columns) {
    tile.transpose(block.wide + position * s.width, s.width, std::min(tile.columns, count - position), s.width,
                   block.keys + position * s.width, tile.columns);
  }
  widen_cache(kernels, *s.value, kv_head, first, count, s.width, block.wide);
  for (int64_t column = 0; column < s.width; column += tile.columns) {
    tile.copy(block.wide + column, s.width, count, std::min(tile.columns, s.width - column), block.values + column * kKeyBlock,
              tile.columns);
  }
}

// scores = queries · keysᵀ, but for tiles of which no row sees anything.
void score_positions(const SimdKernels& kernels, const Shapes& s, QueryBlock& block, int64_t first, int64_t count) {
  const ProductTile<float, float>& tile = kernels.product.f32;
  for (int64_t position = 0; position < count; position += tile.columns) {
    for (int64_t row = 0; row < block.rows; row += tile.rows) {
      const int64_t rows = std::min(tile.rows, block.rows - row);
      const int64_t columns = std::min(tile.columns, visible_to(s, block, row + rows - 1, first, count) - position);
      if (columns <= 0) continue;
      for (int64_t depth = 0; depth < s.width; depth += kProductDepth) {
        const float* queries = block.queries + (depth / kProductDepth * block.rows + row) * kProductStride;
        tile.multiply(std::min(kProductDepth, s.width - depth), queries, block.keys + position * s.width + depth * tile.columns,
                      tile.columns, block.scores + row * kProductStride + position, kProductStride, rows, columns, depth > 0, nullptr);
      }
    }
  }
}

// Scores become weights e^(score - largest).
void weigh(const SimdKernels& kernels, const Shapes& s, QueryBlock& block, int64_t first, int64_t count) {
  for (int64_t row = 0; row < block.rows; ++row) {
    const auto visible = static_cast<size_t>(visible_to(s, block, row, first, count));
    if (visible == 0) continue;
    float* scores = block.scores + row * kProductStride;
    const float largest = std::max(block.largest[row], kernels.largest(scores, visible));
    if (largest > block.largest[row]) {
      const float factor = std::exp(block.largest[row] - largest);
      kernels.scale(block.output + row * s.width, factor, static_cast<size_t>(s.width));
      block.sums[row] *= factor;
      block.largest[row] = largest;
    }
    block.sums[row] += kernels.exp_and_sum(scores, largest, scores, visible);
  }
}

// output += weights · values for some rows, over the positions [begin, end) of the block.
void add_values(const SimdKernels& kernels, const Shapes& s, QueryBlock& block, int64_t first_row, int64_t rows, int64_t begin,
                int64_t end) {
  const ProductTile<float, float>& tile = kernels.product.f32;
  if (begin >= end) return;
  for (int64_t column = 0; column < s.width; column += tile.columns) {
    const float* values = block.values + column * kKeyBlock + begin * tile.columns;
    for (int64_t row = first_row; row < first_row + rows; row += tile.rows) {
      tile.multiply(end - begin, block.scores + row * kProductStride + begin, values, tile.columns, block.output + row * s.width + column,
                    s.width, std::min(tile.rows, first_row + rows - row), std::min(tile.columns, s.width - column), true, nullptr);
    }
  }
}

void attend_block(const SimdKernels& kernels, Scratch& scratch, const Shapes& s, int64_t kv_head, int64_t first_token) {
  QueryBlock block = make_block(kernels, scratch, s, kv_head, first_token);
  SplitBlock split;
  if (can_split(kernels, s)) split = split_queries(kernels, scratch, s, block);
  const int64_t positions = s.past + first_token + block.tokens;
  for (int64_t first = 0; first < positions; first += kKeyBlock) {
    const int64_t count = std::min(kKeyBlock, positions - first);
    if (split.usable && pack_cache_split(kernels, s, kv_head, first, count, block, split)) {
      score_positions_split(kernels, s, block, split, first, count);
      weigh(kernels, s, block, first, count);
      add_values_split(kernels, s, block, split, first, count);
      continue;
    }
    pack_cache(kernels, s, kv_head, first, count, block);
    score_positions(kernels, s, block, first, count);
    weigh(kernels, s, block, first, count);
    // A token's rows stop at what it sees: a weight of zero would not keep out the Inf or NaN of a later position.
    const int64_t seen_by_all = visible_to(s, block, 0, first, count);
    add_values(kernels, s, block, 0, block.rows, 0, seen_by_all);
    for (int64_t row = 0; seen_by_all < count && row < block.rows; row += s.group)
      add_values(kernels, s, block, row, s.group, seen_by_all, visible_to(s, block, row, first, count));
  }
  for (int64_t row = 0; row < block.rows; ++row) {
    float* out = s.out + ((first_token + row / s.group) * s.heads + kv_head * s.group + row % s.group) * s.width;
    std::copy_n(block.output + row * s.width, s.width, out);
    kernels.scale(out, 1.0F / block.sums[row], static_cast<size_t>(s.width));
  }
}

void attend_many(CpuRuntime& runtime, const Shapes& s) {
  const int64_t tokens = tokens_of_block(runtime.kernels(), s);
  const int64_t blocks = panels_of(s.tokens, tokens);
  // Later blocks see more positions: the longest tasks come first.
  take_turns(runtime, s.kv_heads * blocks, [&](Scratch& scratch, int64_t task) {
    attend_block(runtime.kernels(), scratch, s, task % s.kv_heads, (blocks - 1 - task / s.kv_heads) * tokens);
  });
}

}  // namespace

void widen_cache(const SimdKernels& kernels, const Operand& cache, int64_t head, int64_t first, int64_t count, int64_t width, float* out) {
  for (int64_t position = first; position < first + count; ++position, out += width) {
    const std::byte* row = cache_row(cache, head, position);
    if (cache.dtype == DType::q8_0) {
      kernels.q8_0_to_f32(row, out, static_cast<size_t>(width));
    } else {
      convert_elements(kernels, cache.dtype, row, DType::f32, reinterpret_cast<std::byte*>(out), width);
    }
  }
}

void attention_any(const OpCall& call) {
  const Shapes s = shapes_of(call);
  CpuRuntime& runtime = runtime_of(call);
  if (s.tokens <= kFewTokens) return attend_few(runtime, s);
  attend_many(runtime, s);
}

}  // namespace wick::cpu
