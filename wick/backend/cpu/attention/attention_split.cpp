// Attention of many tokens by products of bf16, each number the sum of two: 16 bits of queries and weights, all of keys and values in f16
// and bf16.
#include "wick/backend/cpu/attention/attention_block.h"

namespace wick::cpu {
namespace {

constexpr int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

// Calls body(first row, last row) for panels of kSplitRows rows.
template <class Body>
void for_each_panel(const QueryBlock& block, Body&& body) {
  for (int64_t row = 0; row < block.rows; row += kSplitRows) body(row, std::min(row + kSplitRows, block.rows) - 1);
}

SplitRows rows_from(const std::array<bf16*, 2>& parts, int64_t row, int64_t stride) {
  return {parts[0] + row * stride, parts[1] + row * stride, stride};
}

// Rows of the cache split into `rows` rows of `depth` numbers, of which those behind them are zeros. False where a number is none, or too
// large.
bool split_rows(const SimdKernels& kernels, const MatrixView<const float>& values, int64_t rows, int64_t depth, const SplitBlock& split) {
  bool usable = true;
  for (int64_t row = 0; row < rows; ++row) {
    bf16* high = split.rows[0] + row * depth;
    bf16* low = split.rows[1] + row * depth;
    if (row < values.rows) {
      usable &= kernels.product.split.split(values.row(row), values.columns, high, low);
      std::fill(high + values.columns, high + depth, bf16{});
      std::fill(low + values.columns, low + depth, bf16{});
    } else {
      std::fill_n(high, depth, bf16{});
      std::fill_n(low, depth, bf16{});
    }
  }
  return usable;
}

// Sixteen positions at a time, four words of each of them side by side.
bool pack_keys(const SimdKernels& kernels, const AttentionShapes& s, int64_t count, const QueryBlock& block, const SplitBlock& split) {
  bool usable = true;
  for (int64_t position = 0; position < count; position += kSplitColumns) {
    const int64_t rows = std::min<int64_t>(kSplitColumns, count - position);
    usable &= split_rows(kernels, {block.wide + position * s.width, s.width, rows, s.width}, kSplitColumns, split.depth, split);
    for (size_t part = 0; part < 2; ++part) {
      kernels.gather_words(reinterpret_cast<const std::byte*>(split.rows[part]), split.depth * int64_t{sizeof(bf16)}, split.depth / 2, 0,
                           reinterpret_cast<std::byte*>(split.key_words[part] + position * split.depth / 2));
    }
  }
  return usable;
}

bool pack_values(const SimdKernels& kernels, const AttentionShapes& s, int64_t count, const QueryBlock& block, const SplitBlock& split) {
  bool usable = true;
  for (int64_t position = 0; position < count; position += 2) {
    const int64_t rows = std::min<int64_t>(2, count - position), width = s.value_width;
    usable &= split_rows(kernels, {block.wide + position * width, width, rows, width}, 2, split.row_depth, split);
    for (size_t part = 0; part < 2; ++part) {
      const auto* row = reinterpret_cast<const uint16_t*>(split.rows[part]);
      kernels.product.interleave(row, row + split.row_depth, s.value_width, split.value_words[part] + position / 2 * s.value_width);
    }
  }
  const int64_t pairs = (count + 1) / 2;
  for (uint32_t* words : split.value_words)
    std::fill(words + pairs * s.value_width, words + round_up(count, kSplitDepth) / 2 * s.value_width, 0U);
  return usable;
}

}  // namespace

bool can_split(const SimdKernels& kernels, const AttentionShapes& s) {
  return kernels.product.split.multiply != nullptr && !s.params->precise && s.width % kSplitColumns == 0 &&
         s.value_width % kSplitColumns == 0;
}

SplitBlock split_queries(const SimdKernels& kernels, ScratchFrame& frame, const AttentionShapes& s, const QueryBlock& block) {
  SplitBlock split{
      .usable = true, .depth = round_up(s.width, kSplitDepth), .row_depth = round_up(std::max(s.width, s.value_width), kSplitDepth)};
  const int64_t rows = round_up(block.rows, kSplitRows);
  // Elements of bf16 of one part.
  const int64_t queries = rows * split.depth;
  const int64_t weights = rows * kKeyBlock;
  const int64_t keys = kKeyBlock * split.depth;
  const int64_t values = kKeyBlock * s.value_width;
  const int64_t cache_rows = kSplitColumns * split.row_depth;
  auto* memory = frame.take<bf16>(static_cast<size_t>(2 * (queries + weights + keys + values + cache_rows)));
  for (size_t part = 0; part < 2; ++part) {
    split.queries[part] = std::exchange(memory, memory + queries);
    split.weights[part] = std::exchange(memory, memory + weights);
    split.key_words[part] = reinterpret_cast<uint32_t*>(std::exchange(memory, memory + keys));
    split.value_words[part] = reinterpret_cast<uint32_t*>(std::exchange(memory, memory + values));
    split.rows[part] = std::exchange(memory, memory + cache_rows);
    for (int64_t row = 0; row < rows; ++row) std::fill_n(split.queries[part] + row * split.depth + s.width, split.depth - s.width, bf16{});
  }
  for (int64_t row = 0; row < block.rows; ++row) {
    for (int64_t at = 0; at < s.width; at += kProductDepth) {
      const float* query = block.queries + (at / kProductDepth * block.rows + row) * kProductStride;
      split.usable &= kernels.product.split.split(query, std::min(kProductDepth, s.width - at), split.queries[0] + row * split.depth + at,
                                                  split.queries[1] + row * split.depth + at);
    }
  }
  return split;
}

bool pack_cache_split(const SimdKernels& kernels, const AttentionShapes& s, int64_t first, int64_t count, const QueryBlock& block,
                      const SplitBlock& split) {
  widen_cache(kernels, s, *s.key, first, count, block);
  if (!pack_keys(kernels, s, count, block, split)) return false;
  widen_cache(kernels, s, *s.value, first, count, block);
  return pack_values(kernels, s, count, block, split);
}

void score_positions_split(const SimdKernels& kernels, const AttentionShapes& s, const QueryBlock& block, const SplitBlock& split,
                           int64_t first, int64_t count) {
  const SplitPairs keys{split.key_words[0], split.key_words[1], kSplitColumns, split.depth / 2 * kSplitColumns};
  for_each_panel(block, [&](int64_t row, int64_t last) {
    const int64_t columns = round_up(seen_by(s, block, last, first, count).end, kSplitColumns);
    if (columns == 0) return;
    kernels.product.split.multiply(split.depth, rows_from(split.queries, row, split.depth), keys,
                                   {block.scores + row * kProductStride, kProductStride, kSplitRows, columns}, false);
  });
}

void add_values_split(const SimdKernels& kernels, const AttentionShapes& s, const QueryBlock& block, const SplitBlock& split, int64_t first,
                      int64_t count) {
  const SplitPairs values{split.value_words[0], split.value_words[1], s.value_width, kSplitColumns};
  for_each_panel(block, [&](int64_t row, int64_t last) {
    const int64_t depth = round_up(seen_by(s, block, last, first, count).end, kSplitDepth);
    if (depth == 0) return;
    for (int64_t r = row; r <= last; ++r) {
      const int64_t visible = seen_by(s, block, r, first, count).end;
      bf16* high = split.weights[0] + r * kKeyBlock;
      bf16* low = split.weights[1] + r * kKeyBlock;
      (void)kernels.product.split.split(block.scores + r * kProductStride, visible, high, low);
      std::fill(high + visible, high + depth, bf16{});
      std::fill(low + visible, low + depth, bf16{});
    }
    kernels.product.split.multiply(depth, rows_from(split.weights, row, kKeyBlock), values,
                                   {block.output + row * s.value_width, s.value_width, kSplitRows, s.value_width}, true);
  });
}

}  // namespace wick::cpu
