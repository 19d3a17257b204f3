// Attention of sequences over a key/value cache. Shared key/value heads are read in place, scores are never materialised for more than a
// block of queries and keys, and the softmax runs online: when the largest score of a row grows, what was summed before is rescaled
// (Milakov & Gimelshein 2018).
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "wick/backend/cpu/attention/attention_block.h"
#include "wick/backend/cpu/op_table.h"
#include "wick/backend/cpu/ops/convert.h"

namespace wick::cpu {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

using Shapes = AttentionShapes;
using Sequence = AttentionSequence;

Shapes shapes_of(const OpCall& call) {
  const auto& params = call.parameters<AttentionParams>();
  const Shape& query = call.inputs[0].layout->shape();
  const int64_t kv_heads = call.inputs[1].layout->shape()[0];
  const Operand* bias = call.inputs.data() + 6;
  const auto next = [&](bool there) { return there ? bias++ : nullptr; };
  const Operand *sinks = next(params.has_sinks), *slopes = next(params.has_slopes), *mask = next(params.has_mask);
  return {query[1],
          query[2],
          call.inputs[2].layout->shape()[2],
          kv_heads,
          query[1] / kv_heads,
          &params,
          &call.inputs[1],
          &call.inputs[2],
          data_of<const float>(call.inputs[0]),
          data_of<float>(call.outputs[0]),
          call.outputs.size() > 1 ? data_of<float>(call.outputs[1]) : nullptr,
          sinks == nullptr ? nullptr : data_of<const float>(*sinks),
          slopes == nullptr ? nullptr : data_of<const float>(*slopes),
          mask};
}

// Those that have tokens, of a plan that has been checked.
std::vector<Sequence> sequences_of(const OpCall& call, const Shapes& s) {
  const auto numbers = [&](size_t input) {
    return std::span(data_of<const int32_t>(call.inputs[input]), static_cast<size_t>(call.inputs[input].layout->elements()));
  };
  const AttentionPlanNumbers plan{numbers(3), numbers(4), numbers(5)};
  const int64_t masked = s.mask == nullptr ? -1 : s.mask->layout->shape()[2];
  check_attention_plan(plan, call.inputs[0].layout->shape()[0], s.key->layout->shape()[1], masked, *s.params);
  std::vector<Sequence> sequences;
  sequences.reserve(plan.lengths.size());
  for (size_t i = 0; i < plan.lengths.size(); ++i) {
    const int64_t first = plan.starts[i], tokens = plan.starts[i + 1] - first;
    if (tokens > 0) sequences.push_back({first, tokens, plan.lengths[i], plan.table.data() + static_cast<int64_t>(i) * plan.blocks()});
  }
  return sequences;
}

const CacheKernels& cache_kernels(const SimdKernels& kernels, DType cache) {
  if (cache == DType::f16) return kernels.cache_f16;
  if (cache == DType::bf16) return kernels.cache_bf16;
  return cache == DType::q8_0 ? kernels.cache_q8_0 : kernels.cache_f32;
}

// The cache row of (head, slot), and the bytes from one slot to the next. Rows are contiguous (tensor/ops sees to it), so that a row of
// blocks starts with a block.
const std::byte* cache_row(const Operand& cache, int64_t head, int64_t slot) {
  const Layout& layout = *cache.layout;
  return cache.buffer->host_data() + storage_bytes(cache.dtype, layout.offset() + head * layout.stride(0) + slot * layout.stride(1));
}
int64_t row_stride(const Operand& cache) { return storage_bytes(cache.dtype, cache.layout->stride(1)); }

// One row of queries: a token of a sequence, and a head.
struct QueryRow {
  const Sequence* sequence;
  int64_t token, head;
};

// What the scores of a row against the positions of a range go through before the softmax.
void adjust_scores(const SimdKernels& kernels, const Shapes& s, const QueryRow& row, const PositionRange& positions, float* scores) {
  const Sequence& sequence = *row.sequence;
  const int64_t token = row.token, head = row.head, first = positions.begin, count = positions.end - positions.begin;
  if (s.params->softcap > 0) {
    kernels.scale(scores, 1 / s.params->softcap, static_cast<size_t>(count));
    kernels.numbers<float>().unary[static_cast<size_t>(UnaryKind::tanh)](scores, scores, static_cast<size_t>(count), 0, 0);
    kernels.scale(scores, s.params->softcap, static_cast<size_t>(count));
  }
  if (s.slopes != nullptr) {
    const int64_t distance = first - sequence.position_of(token);
    for (int64_t i = 0; i < count; ++i) scores[i] += s.slopes[head] * static_cast<float>(distance + i);
  }
  if (s.mask == nullptr) return;
  const Layout& layout = *s.mask->layout;
  const float* mask = data_of<const float>(*s.mask) + head * layout.stride(0) + (sequence.first_token + token) * layout.stride(1);
  for (int64_t i = 0; i < count; ++i) scores[i] += mask[(first + i) * layout.stride(2)];
}

// One row's end: `out`, Σ e^(score - largest) · value, is divided by the sum of these weights, to which the sink adds its own. A sum of 0
// is that of a row that sees nothing.
void finish_row(const SimdKernels& kernels, const Shapes& s, int64_t place, float largest, float sum, float* out) {
  if (s.sinks != nullptr) {
    const float sink = s.sinks[place % s.heads], both = std::max(largest, sink);
    const float factor = sum == 0 ? 0.0F : std::exp(largest - both);
    sum = sum * factor + (sink == kNone ? 0.0F : std::exp(sink - both));
    kernels.scale(out, factor, static_cast<size_t>(s.value_width));
    largest = both;
  }
  if (s.log_sum_exp != nullptr) s.log_sum_exp[place] = sum == 0 ? kNone : largest + std::log(sum);
  if (sum == 0) return;
  for (int64_t i = 0; i < s.value_width; ++i) out[i] /= sum;
}

// Runs body(scratch, task) for every task, each on whichever thread is free first. What a task computes does not depend on the thread.
template <class Body>
void take_turns(CpuRuntime& runtime, int64_t tasks, const Body& body) {
  std::atomic<int64_t> next{0};
  runtime.threads().run([&](int thread, int /*threads*/) {
    for (int64_t task = next.fetch_add(1); task < tasks; task = next.fetch_add(1)) body(runtime.scratch(thread), task);
  });
}

// --- A few tokens: each row of the cache is read where it lies, in splits of the positions that threads share ---

// More tokens are worth the rearranging of keys.
constexpr int64_t kFewTokens = 4;
// Position p is in split p / kPositionsOfSplit, whatever the batch: so sums are made in one order.
constexpr int64_t kPositionsOfSplit = 512;
// The kernels take so many positions together.
constexpr int64_t kTogether = 4;

// Some rows of the partials of a split.
struct PartialRows {
  float *largest, *sums, *out;
};

// What one split of the positions adds to a row's result: Σ e^(score - largest) · value in `out` and the sum of the weights.
struct Partials {
  int64_t rows, width;
  float* largest;  // [splits, rows]
  float* sums;
  float* out;  // [splits, rows, width]

  static constexpr size_t room(int64_t splits, int64_t rows, int64_t width) { return static_cast<size_t>(splits * rows * (width + 2)); }
  Partials(float* memory, int64_t splits, int64_t row_count, int64_t value_width)
      : rows(row_count), width(value_width), largest(memory), sums(memory + splits * rows), out(memory + 2 * splits * rows) {}
  [[nodiscard]] PartialRows of(int64_t split, int64_t row) const {
    const int64_t at = split * rows + row;
    return {largest + at, sums + at, out + at * width};
  }
};

struct Splits {
  int64_t begin, end;
  [[nodiscard]] int64_t count() const { return end - begin; }
};

Splits splits_of(const PositionRange& range) {
  return {range.begin / kPositionsOfSplit, (range.end + kPositionsOfSplit - 1) / kPositionsOfSplit};
}
PositionRange seen_by_token(const Shapes& s, const Sequence& sequence, int64_t token) {
  return visible_positions(*s.params, sequence.position_of(token), sequence.length);
}
// What any token of the sequence sees.
PositionRange seen_by_any(const Shapes& s, const Sequence& sequence) {
  return {seen_by_token(s, sequence, 0).begin, seen_by_token(s, sequence, sequence.tokens - 1).end};
}

// Rows of one head of the cache, from slot `slot` on.
struct CacheRun {
  int64_t head, slot, count, width;
};

// Calls body(rows) with the prefetch distance of their format.
template <class Body>
void read_cache(CpuRuntime& runtime, const Operand& cache, const CacheRun& run, const Body& body) {
  const int64_t bytes = storage_bytes(cache.dtype, run.count * run.width);
  runtime.prefetch().run({StreamKind::kv_cache, cache.dtype}, 0, bytes, [&](int64_t distance) {
    body(CacheRows{cache_row(cache, run.head, run.slot), row_stride(cache), run.count, distance});
  });
}

// One token of a sequence and the heads of one head of the cache.
struct QueryGroup {
  const Sequence* sequence;
  int64_t token, kv_head;
};

// The rows `place` … of the partials, one for each head of the group, from the positions of one split.
void attend_split(CpuRuntime& runtime, Scratch& scratch, const Shapes& s, const QueryGroup& queries, int64_t split,
                  const PartialRows& partials) {
  const SimdKernels& kernels = runtime.kernels();
  const Sequence& sequence = *queries.sequence;
  const int64_t token = queries.token, kv_head = queries.kv_head;
  const CacheKernels& cache = cache_kernels(kernels, s.cache());
  const PositionRange seen = seen_by_token(s, sequence, token);
  const int64_t begin = std::max(seen.begin, split * kPositionsOfSplit), end = std::min(seen.end, (split + 1) * kPositionsOfSplit);
  float* out = partials.out;
  std::fill_n(out, s.group * s.value_width, 0.0F);
  std::fill_n(partials.largest, s.group, kNone);
  std::fill_n(partials.sums, s.group, 0.0F);
  if (begin >= end) return;
  ScratchFrame frame(scratch);
  auto* scores = frame.take<float>(static_cast<size_t>(s.group * kPositionsOfSplit));
  auto* query = frame.take<float>(static_cast<size_t>(s.group * s.width));
  const int64_t head = kv_head * s.group;
  std::copy_n(s.query + s.place(sequence.first_token + token, head) * s.width, s.group * s.width, query);
  kernels.scale(query, s.params->scale, static_cast<size_t>(s.group * s.width));
  // A score's sum is made in one order, whichever blocks are neighbours: those that are taken together are so by their position.
  const int64_t first = s.params->block_size % kTogether == 0 ? begin - begin % kTogether : begin, skipped = begin - first;
  for_each_run(s, sequence, first, end - first, [&](int64_t offset, int64_t slot, int64_t count) {
    read_cache(runtime, *s.key, {kv_head, slot, count, s.width}, [&](const CacheRows& rows) {
      cache.scores({query, s.width, s.group, s.width}, rows, {scores + offset, kPositionsOfSplit, s.group, count});
    });
  });
  const auto positions = static_cast<size_t>(end - begin);
  for (int64_t row = 0; row < s.group; ++row) {
    float* weights = scores + row * kPositionsOfSplit + skipped;
    adjust_scores(kernels, s, {&sequence, token, head + row}, {begin, end}, weights);
    const float largest = kernels.largest(weights, positions);
    partials.largest[row] = largest;
    if (largest == kNone) {
      std::fill_n(weights, positions, 0.0F);
    } else {
      partials.sums[row] = kernels.exp_and_sum(weights, largest, weights, positions);
    }
  }
  for_each_run(s, sequence, begin, end - begin, [&](int64_t offset, int64_t slot, int64_t count) {
    read_cache(runtime, *s.value, {kv_head, slot, count, s.value_width}, [&](const CacheRows& rows) {
      cache.weighted_sum({scores + skipped + offset, kPositionsOfSplit, s.group, count}, rows,
                         {out, s.value_width, s.group, s.value_width});
    });
  });
}

// The splits of one row brought to their common largest score and added up; `place` is the row's in the results.
void join_splits(const SimdKernels& kernels, const Shapes& s, const Partials& partials, int64_t splits, int64_t row, int64_t place) {
  float* out = s.out + place * s.value_width;
  float largest = kNone;
  for (int64_t split = 0; split < splits; ++split) largest = std::max(largest, partials.largest[split * partials.rows + row]);
  std::fill_n(out, s.value_width, 0.0F);
  float sum = 0;
  for (int64_t split = 0; split < splits; ++split) {
    const int64_t from = split * partials.rows + row;
    if (partials.largest[from] == kNone) continue;
    const float factor = std::exp(partials.largest[from] - largest);
    sum += factor * partials.sums[from];
    for (int64_t i = 0; i < s.value_width; ++i) out[i] += factor * partials.out[from * s.value_width + i];
  }
  finish_row(kernels, s, place, largest, sum, out);
}

// All of one token and one head of the cache, by the arithmetic of those that share their splits.
void attend_alone(CpuRuntime& runtime, Scratch& scratch, const Shapes& s, const Sequence& sequence, int64_t token, int64_t kv_head) {
  const Splits splits = splits_of(seen_by_token(s, sequence, token));
  ScratchFrame frame(scratch);
  const Partials partials(frame.take<float>(Partials::room(splits.count(), s.group, s.value_width)), splits.count(), s.group,
                          s.value_width);
  for (int64_t split = 0; split < splits.count(); ++split)
    attend_split(runtime, scratch, s, {&sequence, token, kv_head}, splits.begin + split, partials.of(split, 0));
  for (int64_t row = 0; row < s.group; ++row)
    join_splits(runtime.kernels(), s, partials, splits.count(), row, s.place(sequence.first_token + token, kv_head * s.group + row));
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

QueryBlock make_block(const SimdKernels& kernels, ScratchFrame& frame, const Shapes& s, const Sequence& sequence, int64_t kv_head,
                      int64_t first_token) {
  const int64_t tokens = std::min(tokens_of_block(kernels, s), sequence.tokens - first_token);
  const int64_t rows = tokens * s.group;
  const int64_t columns = kernels.product.f32.columns;
  const int64_t room = panels_of(rows, kSplitRows) * kSplitRows;
  // The tile may read one row more.
  const auto packed = static_cast<size_t>((room + 1) * kProductStride);
  const int64_t parts = panels_of(s.width, kProductDepth);
  QueryBlock block{&sequence,
                   kv_head,
                   first_token,
                   tokens,
                   rows,
                   frame.take<float>(static_cast<size_t>(parts) * packed),
                   frame.take<float>(packed),
                   frame.take<float>(static_cast<size_t>(room * s.value_width)),
                   frame.take<float>(static_cast<size_t>(rows)),
                   frame.take<float>(static_cast<size_t>(rows)),
                   frame.take<float>(static_cast<size_t>(panels_of(kKeyBlock, columns) * columns * s.width)),
                   frame.take<float>(static_cast<size_t>(panels_of(s.value_width, columns) * columns * kKeyBlock)),
                   frame.take<float>(static_cast<size_t>(kKeyBlock * std::max(s.width, s.value_width)))};
  for (int64_t row = 0; row < rows; ++row) {
    const float* source = s.query + s.place(sequence.first_token + block.token_of(s, row), block.head_of(s, row)) * s.width;
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t width = std::min(kProductDepth, s.width - part * kProductDepth);
      float* query = block.queries + (part * rows + row) * kProductStride;
      std::copy_n(source + part * kProductDepth, width, query);
      kernels.scale(query, s.params->scale, static_cast<size_t>(width));
    }
  }
  std::fill_n(block.output, rows * s.value_width, 0.0F);
  std::fill_n(block.sums, rows, 0.0F);
  std::fill_n(block.largest, rows, kNone);
  return block;
}

// Keys as right panels of queries · keysᵀ, values as right panels of weights · values.
void pack_cache(const SimdKernels& kernels, const Shapes& s, int64_t first, int64_t count, QueryBlock& block) {
  const ProductTile<float, float>& tile = kernels.product.f32;
  widen_cache(kernels, s, *s.key, first, count, block);
  for (int64_t position = 0; position < count; position += tile.columns) {
    tile.transpose({block.wide + position * s.width, s.width, std::min(tile.columns, count - position), s.width},
                   block.keys + position * s.width, tile.columns);
  }
  widen_cache(kernels, s, *s.value, first, count, block);
  for (int64_t column = 0; column < s.value_width; column += tile.columns) {
    tile.copy({block.wide + column, s.value_width, count, std::min(tile.columns, s.value_width - column)},
              block.values + column * kKeyBlock, tile.columns);
  }
}

// scores = queries · keysᵀ, but for tiles of which no row sees anything.
void score_positions(const SimdKernels& kernels, const Shapes& s, QueryBlock& block, int64_t first, int64_t count) {
  const ProductTile<float, float>& tile = kernels.product.f32;
  for (int64_t position = 0; position < count; position += tile.columns) {
    for (int64_t row = 0; row < block.rows; row += tile.rows) {
      const int64_t rows = std::min(tile.rows, block.rows - row);
      const int64_t columns = std::min(tile.columns, seen_by(s, block, row + rows - 1, first, count).end - position);
      if (columns <= 0) continue;
      for (int64_t depth = 0; depth < s.width; depth += kProductDepth) {
        const float* queries = block.queries + (depth / kProductDepth * block.rows + row) * kProductStride;
        const MatrixView<const float> keys{block.keys + position * s.width + depth * tile.columns, tile.columns,
                                           std::min(kProductDepth, s.width - depth), tile.columns};
        tile.multiply(queries, keys, {block.scores + row * kProductStride + position, kProductStride, rows, columns}, depth > 0, nullptr);
      }
    }
  }
}

// Scores become weights e^(score - largest), and zeros in front of what a row sees.
void weigh(const SimdKernels& kernels, const Shapes& s, QueryBlock& block, int64_t first, int64_t count) {
  for (int64_t row = 0; row < block.rows; ++row) {
    const PositionRange seen = seen_by(s, block, row, first, count);
    float* scores = block.scores + row * kProductStride;
    std::fill_n(scores, seen.begin, 0.0F);
    if (seen.begin == seen.end) continue;
    scores += seen.begin;
    const auto visible = static_cast<size_t>(seen.end - seen.begin);
    adjust_scores(kernels, s, {block.sequence, block.token_of(s, row), block.head_of(s, row)}, {first + seen.begin, first + seen.end},
                  scores);
    const float largest_here = kernels.largest(scores, visible);
    if (largest_here == kNone) {
      std::fill_n(scores, visible, 0.0F);
      continue;
    }
    const float largest = std::max(block.largest[row], largest_here);
    if (largest > block.largest[row]) {
      const float factor = std::exp(block.largest[row] - largest);
      kernels.scale(block.output + row * s.value_width, factor, static_cast<size_t>(s.value_width));
      block.sums[row] *= factor;
      block.largest[row] = largest;
    }
    block.sums[row] += kernels.exp_and_sum(scores, largest, scores, visible);
  }
}

// output += weights · values for some rows, over a range of the positions of the block.
void add_values(const SimdKernels& kernels, const Shapes& s, QueryBlock& block, int64_t first_row, int64_t rows,
                const PositionRange& positions) {
  const ProductTile<float, float>& tile = kernels.product.f32;
  const auto [begin, end] = positions;
  if (begin >= end) return;
  for (int64_t column = 0; column < s.value_width; column += tile.columns) {
    const MatrixView<const float> values{block.values + column * kKeyBlock + begin * tile.columns, tile.columns, end - begin, tile.columns};
    const int64_t columns = std::min(tile.columns, s.value_width - column);
    for (int64_t row = first_row; row < first_row + rows; row += tile.rows) {
      tile.multiply(block.scores + row * kProductStride + begin, values,
                    {block.output + row * s.value_width + column, s.value_width, std::min(tile.rows, first_row + rows - row), columns},
                    true, nullptr);
    }
  }
}

// Every row as far as it sees: a weight of zero would not keep out the Inf or NaN of a position that it does not see.
void add_seen_values(const SimdKernels& kernels, const Shapes& s, QueryBlock& block, int64_t first, int64_t count) {
  // Later rows see later positions, and no row sees the end of an earlier one's less than it does.
  const PositionRange first_row = seen_by(s, block, 0, first, count), last_row = seen_by(s, block, block.rows - 1, first, count);
  const int64_t begin = last_row.begin, end = first_row.end;
  if (begin >= end) {
    for (int64_t row = 0; row < block.rows; row += s.group) {
      const PositionRange seen = seen_by(s, block, row, first, count);
      add_values(kernels, s, block, row, s.group, seen);
    }
    return;
  }
  add_values(kernels, s, block, 0, block.rows, {begin, end});
  if (first_row.begin == begin && last_row.end == end) return;
  for (int64_t row = 0; row < block.rows; row += s.group) {
    const PositionRange seen = seen_by(s, block, row, first, count);
    add_values(kernels, s, block, row, s.group, {seen.begin, begin});
    add_values(kernels, s, block, row, s.group, {end, seen.end});
  }
}

void attend_block(const SimdKernels& kernels, Scratch& scratch, const Shapes& s, const Sequence& sequence, int64_t kv_head,
                  int64_t first_token) {
  ScratchFrame frame(scratch);
  QueryBlock block = make_block(kernels, frame, s, sequence, kv_head, first_token);
  SplitBlock split;
  if (can_split(kernels, s)) split = split_queries(kernels, frame, s, block);
  const int64_t end = seen_by_token(s, sequence, first_token + block.tokens - 1).end;
  for (int64_t first = seen_by_token(s, sequence, first_token).begin; first < end; first += kKeyBlock) {
    const int64_t count = std::min(kKeyBlock, end - first);
    if (split.usable && pack_cache_split(kernels, s, first, count, block, split)) {
      score_positions_split(kernels, s, block, split, first, count);
      weigh(kernels, s, block, first, count);
      add_values_split(kernels, s, block, split, first, count);
      continue;
    }
    pack_cache(kernels, s, first, count, block);
    score_positions(kernels, s, block, first, count);
    weigh(kernels, s, block, first, count);
    add_seen_values(kernels, s, block, first, count);
  }
  for (int64_t row = 0; row < block.rows; ++row) {
    const int64_t place = s.place(sequence.first_token + block.token_of(s, row), block.head_of(s, row));
    float* out = s.out + place * s.value_width;
    std::copy_n(block.output + row * s.value_width, s.value_width, out);
    finish_row(kernels, s, place, block.largest[row], block.sums[row], out);
  }
}

// --- A call's work, as tasks that threads take ---

enum class Way : uint8_t { blocks, alone, splits };

// Tasks from `first` on are a sequence's: blocks of its tokens, single tokens, or splits of its positions, each times heads of the cache.
struct Work {
  const Sequence* sequence;
  Way way;
  int64_t first = 0, parts = 0;
  size_t partials = 0;  // where those of splits begin
};

class Attention {
 public:
  explicit Attention(const OpCall& call)
      : runtime_(runtime_of(call)), s_(shapes_of(call)), sequences_(sequences_of(call, s_)), block_tokens_(tokens_of_block(kernels(), s_)) {
    // The longest tasks come first.
    work_.reserve(sequences_.size());
    for (const Way way : {Way::blocks, Way::alone, Way::splits}) {
      for (const Sequence& sequence : sequences_) {
        if (way_of(sequence) == way) plan(sequence, way);
      }
    }
  }

  void run() {
    ScratchFrame frame(runtime_.scratch(0));
    auto* partials = frame.take<float>(partials_);
    take_turns(runtime_, tasks_, [&](Scratch& scratch, int64_t task) { run_task(scratch, task, partials); });
    for (const Work& work : work_) {
      if (work.way == Way::splits) join(work, partials + work.partials);
    }
  }

 private:
  // A result is worth a fork only from about this many numbers on.
  static constexpr int64_t kNumbersPerFork = 1 << 16;

  [[nodiscard]] const SimdKernels& kernels() const { return runtime_.kernels(); }
  [[nodiscard]] Way way_of(const Sequence& sequence) const {
    if (sequence.tokens <= kFewTokens) return Way::splits;
    return s_.params->deterministic ? Way::alone : Way::blocks;
  }

  void plan(const Sequence& sequence, Way way) {
    Work work{.sequence = &sequence, .way = way, .first = tasks_, .partials = partials_};
    if (way == Way::blocks) {
      work.parts = panels_of(sequence.tokens, block_tokens_);
    } else if (way == Way::alone) {
      work.parts = sequence.tokens;
    } else {
      work.parts = splits_of(seen_by_any(s_, sequence)).count();
      partials_ += Partials::room(work.parts, sequence.tokens * s_.heads, s_.value_width);
    }
    tasks_ += work.parts * s_.kv_heads;
    work_.push_back(work);
  }

  void run_task(Scratch& scratch, int64_t task, float* memory) const {
    const auto after =
        std::upper_bound(work_.begin(), work_.end(), task, [](int64_t value, const Work& work) { return value < work.first; });
    const Work& work = *(after - 1);
    const Sequence& sequence = *work.sequence;
    const int64_t part = task - work.first;
    switch (work.way) {
      case Way::blocks:  // later ones see more positions
        return attend_block(kernels(), scratch, s_, sequence, part % s_.kv_heads, (work.parts - 1 - part / s_.kv_heads) * block_tokens_);
      case Way::alone: return attend_alone(runtime_, scratch, s_, sequence, work.parts - 1 - part / s_.kv_heads, part % s_.kv_heads);
      case Way::splits: break;
    }
    const int64_t kv_head = part / work.parts, split = part % work.parts, rows = sequence.tokens * s_.heads;
    const Partials partials(memory + work.partials, work.parts, rows, s_.value_width);
    for (int64_t token = 0; token < sequence.tokens; ++token)
      attend_split(runtime_, scratch, s_, {&sequence, token, kv_head}, splits_of(seen_by_any(s_, sequence)).begin + split,
                   partials.of(split, token * s_.heads + kv_head * s_.group));
  }

  void join(const Work& work, float* memory) const {
    const int64_t rows = work.sequence->tokens * s_.heads;
    const Partials partials(memory, work.parts, rows, s_.value_width);
    const auto join_rows = [&](Scratch& /*scratch*/, int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        join_splits(kernels(), s_, partials, work.parts, row, work.sequence->first_token * s_.heads + row);
    };
    share_equally(runtime_, rows, rows * work.parts * s_.value_width >= 2 * kNumbersPerFork, join_rows);
  }

  CpuRuntime& runtime_;
  Shapes s_;
  std::vector<Sequence> sequences_;
  int64_t block_tokens_;
  std::vector<Work> work_;
  int64_t tasks_ = 0;
  size_t partials_ = 0;
};

}  // namespace

void widen_cache(const SimdKernels& kernels, const AttentionShapes& s, const Operand& cache, int64_t first, int64_t count,
                 const QueryBlock& block) {
  const int64_t width = cache.layout->shape()[2], stride = row_stride(cache);
  for_each_run(s, *block.sequence, first, count, [&](int64_t offset, int64_t slot, int64_t positions) {
    const std::byte* row = cache_row(cache, block.kv_head, slot);
    float* out = block.wide + offset * width;
    for (int64_t position = 0; position < positions; ++position, row += stride, out += width) {
      if (cache.dtype == DType::q8_0) {
        kernels.q8_0_to_f32(row, out, static_cast<size_t>(width));
      } else {
        convert_elements(kernels, cache.dtype, row, DType::f32, reinterpret_cast<std::byte*>(out), width);
      }
    }
  });
}

void attention_any(const OpCall& call) { Attention(call).run(); }

}  // namespace wick::cpu
