// attention: grouped heads, odd widths, prefill and decode, caches of every dtype that are larger than what is filled.
#include "wick/tensor/ops/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conformance/case.h"

namespace wick::conformance {
namespace {

struct Sizes {
  int64_t tokens, heads, kv_heads, width, past;
  int64_t positions;  // the cache's capacity
};

// A score errs by δ = (4 + 2 √d) · u · scale · Σ |q·k|, so a weight e^(score - max) by 2 δ of itself, and the mean of the values by that
// and the roundings of a sum of p terms, times the largest value. Where f16 is allowed, rounding queries and keys adds 4 · 2^-11 · scale ·
// √Σ (q·k)² to δ, which is √d roundings of each and some, and to the whole the roundings of weights and values; f16 below 2^-14 are
// multiples of 2^-24.
Bound attention_bound(const AttentionParams& params) {
  return [params](Inputs inputs, const ReferenceTensor& expected) {
    const auto width = static_cast<size_t>(inputs[0].shape[2]);
    const auto heads = static_cast<size_t>(inputs[0].shape[1]);
    const auto positions = static_cast<size_t>(inputs[1].shape[1]);
    const size_t group = heads / static_cast<size_t>(inputs[1].shape[0]);
    std::vector<double> bounds(expected.values.size());
    for (size_t row = 0; row < bounds.size() / width; ++row) {
      const size_t visible = static_cast<size_t>(params.past) + row / heads + 1;
      const size_t shared = row % heads / group * positions * width;
      double score = 0;
      double value = 0;
      double rounded = 0;  // what f16 adds to δ
      for (size_t position = 0; position < visible; ++position) {
        double sum = 0;
        double squares = 0;
        double keys = 0;
        for (size_t i = 0; i < width; ++i) {
          const double key = inputs[1].values[shared + position * width + i];
          const double product = inputs[0].values[row * width + i] * key;
          sum += std::fabs(product);
          squares += product * product;
          keys += std::fabs(key);
          value = std::max(value, std::fabs(inputs[2].values[shared + position * width + i]));
        }
        score = std::max(score, sum * params.scale);
        rounded = std::max(rounded, 4 * 0x1p-11 * std::sqrt(squares) * params.scale + keys * 0x1p-24);
      }
      double delta = (4 + 2 * std::sqrt(static_cast<double>(width))) * 0x1p-24 * score;
      double error = (16 + 2 * score + 2 * std::sqrt(static_cast<double>(visible))) * 0x1p-24;
      if (!params.precise) {
        delta += rounded;
        error += 2 * 0x1p-11 + static_cast<double>(visible) * 0x1p-24;
      }
      error += 2 * delta;
      std::fill_n(bounds.begin() + static_cast<std::ptrdiff_t>(row * width), width, error * value);
    }
    return bounds;
  };
}

enum class Cache { contiguous, narrowed, positions_first, flipped, shared_heads };
constexpr const char* kCacheNames[] = {"contiguous", "narrowed", "positions first", "flipped", "shared heads"};

Tensor make_cache(Trial& trial, const Sizes& s, DType dtype, Cache kind) {
  const Shape shape{s.kv_heads, s.positions, s.width};
  if (is_quantized(dtype)) {
    const bool first = kind == Cache::positions_first;
    const Tensor rows = trial.weight(s.kv_heads * s.positions, s.width, dtype);
    return first ? rows.reshape({s.positions, s.kv_heads, s.width}).transpose(0, 1) : rows.reshape(shape);
  }
  switch (kind) {
    case Cache::contiguous: return trial.input(shape, dtype, View::contiguous, {-1, 1});
    case Cache::narrowed: return trial.input(shape, dtype, View::narrowed, {-1, 1});
    case Cache::positions_first: return trial.input({s.positions, s.kv_heads, s.width}, dtype, View::contiguous, {-1, 1}).transpose(0, 1);
    case Cache::flipped: return trial.input(shape, dtype, View::flipped, {-1, 1});
    case Cache::shared_heads: return trial.input(shape, dtype, View::broadcast, {-1, 1});
  }
  return trial.input(shape, dtype);
}

void add(CaseList& list, const Sizes& s, DType dtype, Cache cache = Cache::contiguous, View query_view = View::contiguous, double reach = 2,
         bool precise = true) {
  const std::string name =
      fmt::format("tokens {} past {}/heads {} of {}/width {}/capacity {}/cache {}/query {}/{}{}", s.tokens, s.past, s.heads, s.kv_heads,
                  s.width, s.positions, kCacheNames[static_cast<size_t>(cache)], to_string(query_view), reach, precise ? "/precise" : "");
  list.add(OpId::attention, dtype, name, [=](Trial& trial) {
    const Tensor query = trial.input({s.tokens, s.heads, s.width}, DType::f32, query_view, {-reach, reach});
    const Tensor key = make_cache(trial, s, dtype, cache);
    const Tensor value = make_cache(trial, s, dtype, cache);
    const AttentionParams params{1 / std::sqrt(static_cast<float>(s.width)), s.past, precise};
    trial.expect(OpId::attention, &params, {&query, &key, &value}, attention(query, key, value, params), attention_bound(params));
  });
}

// What lies in the cache behind the filled positions, or behind what a token may see, must not matter, whatever it is.
void add_unfilled(CaseList& list, const Sizes& s, DType dtype, bool precise = true) {
  const std::string name =
      fmt::format("tokens {} past {}/width {}/NaN behind the filled positions{}", s.tokens, s.past, s.width, precise ? "/precise" : "");
  list.add(OpId::attention, dtype, name, [=](Trial& trial) {
    const Tensor query = trial.input({s.tokens, s.heads, s.width}, DType::f32);
    const int64_t row = s.positions * s.width;
    std::vector<double> values(static_cast<size_t>(s.kv_heads * row));
    for (int64_t i = 0; i < s.kv_heads * row; ++i) {
      const bool filled = i % row / s.width < s.past + s.tokens;
      values[static_cast<size_t>(i)] = filled ? trial.random().uniform(-1, 1) : std::nan("");
    }
    const Tensor key = trial.input_of(values, {s.kv_heads, s.positions, s.width}, dtype);
    const Tensor value = trial.input_of(values, {s.kv_heads, s.positions, s.width}, dtype);
    const AttentionParams params{0.25F, s.past, precise};
    trial.expect(OpId::attention, &params, {&query, &key, &value}, attention(query, key, value, params), attention_bound(params));
  });
}

// Rows enough for matrix tiles, with f16 allowed: blocks of rows and of positions that are full and that are not, splits, every cache.
void add_rounded(CaseList& list, DType dtype) {
  const auto add_one = [&](const Sizes& s, Cache cache = Cache::contiguous, View view = View::contiguous, double reach = 2) {
    add(list, s, dtype, cache, view, reach, false);
  };
  for (const int64_t tokens : {1, 5, 9, 16, 17, 33, 70}) {
    for (const int64_t past : {0, 1, 31, 600}) {
      for (const int64_t group : {1, 3, 4}) add_one({tokens, 2 * group, 2, 64, past, past + tokens + 3});
    }
  }
  for (const int64_t width : {32, 64, 96, 128, 160, 192, 256, 288}) add_one({50, 6, 2, width, 77, 130});
  if (dtype != DType::q8_0) {
    for (const int64_t width : {8, 16, 20, 24, 40, 48, 80, 112}) add_one({50, 6, 2, width, 77, 130});
    for (const Cache cache : {Cache::narrowed, Cache::flipped, Cache::shared_heads}) add_one({33, 6, 3, 64, 9, 60}, cache);
    for (const View view : views_of({33, 4, 16})) add_one({33, 4, 2, 16, 5, 38}, Cache::contiguous, view);
    add_unfilled(list, {33, 6, 3, 32, 17, 61}, dtype, false);
  }
  add_one({33, 6, 3, 64, 9, 60}, Cache::positions_first);
  add_one({300, 4, 2, 64, 1100, 1400});
  add_one({33, 4, 2, 64, 100, 133}, Cache::contiguous, View::contiguous, 200);
}

}  // namespace

void add_attention_cases(CaseList& list) {
  for (const DType dtype : kCacheDTypes) add_rounded(list, dtype);
  for (const int64_t tokens : {1, 4, 5, 33, 70}) {
    for (const int64_t past : {0, 17, 100, 600}) {
      for (const int64_t group : {1, 3, 4, 8}) add(list, {tokens, 2 * group, 2, 32, past, past + tokens + 3}, DType::q8_0);
      for (const int64_t width : {64, 96, 288}) add(list, {tokens, 3, 1, width, past, past + tokens}, DType::q8_0);
    }
    add(list, {tokens, 6, 3, 64, 9, tokens + 30}, DType::q8_0, Cache::positions_first);
  }
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    // Several runs and blocks of positions, a width of more than one part, and many heads to a cache head.
    for (const int64_t tokens : {1, 4, 5, 300}) {
      add(list, {tokens, 4, 2, 64, 1100, 1100 + tokens}, dtype);
      add(list, {tokens, 2, 2, 272, 140, 140 + tokens}, dtype);
      add(list, {tokens, 40, 1, 16, 511, 511 + tokens}, dtype);
    }
    for (const int64_t tokens : {1, 2, 5, 33, 70}) {
      for (const int64_t past : {0, 1, 17, 100}) {
        for (const int64_t group : {1, 2, 4, 8}) add(list, {tokens, 2 * group, 2, 8, past, past + tokens + 3}, dtype);
        for (const int64_t width : {64, 80, 128}) add(list, {tokens, 3, 1, width, past, past + tokens}, dtype);
        add(list, {tokens, 15, 3, 20, past, past + tokens + 1}, dtype);
        add_unfilled(list, {tokens, 6, 3, 8, past, past + tokens + 9}, dtype);
      }
      for (const Cache cache : {Cache::narrowed, Cache::positions_first, Cache::flipped, Cache::shared_heads})
        add(list, {tokens, 6, 3, 24, 9, tokens + 30}, dtype, cache);
      for (const View view : views_of({tokens, 4, 16})) add(list, {tokens, 4, 2, 16, 5, tokens + 5}, dtype, Cache::contiguous, view);
      // Scores far apart: the running maximum moves often and old sums vanish.
      add(list, {tokens, 4, 2, 64, 100, tokens + 100}, dtype, Cache::contiguous, View::contiguous, 200);
    }
    for (const int64_t width : {1, 2, 3, 7, 15, 17, 31, 33}) add(list, {3, 2, 1, width, 66, 69}, dtype);
    for (const int64_t past : {61, 62, 63, 64, 65, 126, 127, 128, 129}) add(list, {2, 2, 1, 8, past, past + 2}, dtype);
    add(list, {0, 4, 2, 8, 5, 9}, dtype);
    add(list, {3, 0, 2, 8, 5, 9}, dtype);
    add(list, {3, 4, 2, 0, 5, 9}, dtype);
  }
}

}  // namespace wick::conformance
