// rope: both pairings, part of a head rotated, tables shared by all tokens.
#include "wick/tensor/ops/rope.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "conformance/case.h"

namespace wick::conformance {
namespace {

// a·cos − b·sin: three roundings of terms no larger than the largest element of the head.
Bound rope_bound(DType dtype) {
  return [u = roundoff(dtype)](Inputs inputs, const ReferenceTensor& expected) {
    const auto n = static_cast<size_t>(expected.shape.last());
    std::vector<double> bounds(expected.values.size());
    for (size_t row = 0; row < bounds.size(); row += n) {
      double largest = 0;
      for (size_t i = 0; i < n; ++i) largest = std::max(largest, std::fabs(inputs[0].values[row + i]));
      std::fill_n(bounds.begin() + static_cast<std::ptrdiff_t>(row), n, 6 * u * largest);
    }
    return bounds;
  };
}

void add(CaseList& list, const Shape& shape, int64_t pairs, RopeStyle style, DType dtype, View view, View table_view) {
  const char* style_name = style == RopeStyle::interleaved ? "interleaved" : "half_split";
  const std::string name =
      fmt::format("{}/pairs {}/{}/{}/table {}", shape.to_string(), pairs, style_name, to_string(view), to_string(table_view));
  list.add(OpId::rope, dtype, name, [=](Trial& trial) {
    const Tensor x = trial.input(shape, dtype, view);
    const Tensor table = trial.input({shape[0], pairs, 2}, DType::f32, table_view, {-1.2, 1.2});
    const RopeParams params{style};
    trial.expect(OpId::rope, &params, {&x, &table}, rope(x, table, style), rope_bound(dtype));
  });
}

// The same for keys in the order of a cache, by the largest element of all heads.
std::vector<double> turned_key_bound(Inputs inputs, const ReferenceTensor& expected) {
  double largest = 0;
  for (const double number : inputs[1].values) largest = std::max(largest, std::fabs(number));
  return std::vector<double>(expected.values.size(), 6 * 0x1p-24 * largest);
}

std::vector<double> exact(Inputs /*inputs*/, const ReferenceTensor& expected) { return std::vector<double>(expected.values.size()); }

struct CacheCase {
  int64_t tokens, heads, kv_heads, head_dim, pairs;
  int64_t other_value_dim = 0;  // 0: the values are as wide as the keys

  [[nodiscard]] int64_t value_dim() const { return other_value_dim == 0 ? head_dim : other_value_dim; }
};

// A code of q8_0 errs by half a step, 1/127 of the block's largest magnitude, whose f16 errs by 2^-11 of itself, 127 codes away from 0;
// at a tie of two codes an error of the number turns into a step.
Bound cache_bound(DType dtype, const Bound& bound) {
  if (dtype != DType::q8_0) return bound;
  return [bound](Inputs inputs, const ReferenceTensor& expected) {
    std::vector<double> bounds = bound(inputs, expected);
    for (size_t at = 0; at < bounds.size(); at += 32) {
      double largest = 0;
      for (size_t i = at; i < at + 32; ++i) largest = std::max(largest, std::fabs(expected.values[i]) + bounds[i]);
      for (size_t i = at; i < at + 32; ++i) bounds[i] += largest * (0.501 / 127 + 0x1p-11) + 0x1p-25 * 127;
    }
    return bounds;
  };
}

// Tokens at any positions, into any slots of a larger cache, of which the others stay; the second of several tokens goes nowhere.
void add_into_cache(CaseList& list, const CacheCase& c, RopeStyle style, DType dtype, View view = View::contiguous) {
  const char* style_name = style == RopeStyle::interleaved ? "interleaved" : "half_split";
  const std::string name = fmt::format("[{}, {}+{}, {}]/value {}/pairs {}/{}/{}", c.tokens, c.heads, c.kv_heads, c.head_dim, c.value_dim(),
                                       c.pairs, style_name, to_string(view));
  list.add(OpId::rope_into_cache, dtype, name, [=](Trial& trial) {
    const int64_t positions = 9, slots = (c.tokens + 5) | 1;
    const auto cache = [&](int64_t width) { return trial.weight(c.kv_heads * slots, width, dtype).reshape({c.kv_heads, slots, width}); };
    const Tensor query = trial.input({c.tokens, c.heads, c.head_dim}, DType::f32, view);
    const Tensor key = trial.input({c.tokens, c.kv_heads, c.head_dim}, DType::f32, view);
    const Tensor value = trial.input({c.tokens, c.kv_heads, c.value_dim()}, DType::f32, view);
    const Tensor table = trial.input({c.pairs == 0 ? 0 : positions, c.pairs, 2}, DType::f32, View::contiguous, {-1.2, 1.2});
    std::vector<int32_t> at, to;
    for (int64_t token = 0; token < c.tokens; ++token) {
      at.push_back(static_cast<int32_t>(trial.random().below(positions)));
      to.push_back(token == 1 ? -1 : static_cast<int32_t>((token * 2 + 3) % slots));
    }
    const CachePlaces places{Tensor::from_vector(at, {c.tokens}, trial.device()), Tensor::from_vector(to, {c.tokens}, trial.device())};
    const Tensor keys = cache(c.head_dim), values = cache(c.value_dim());
    std::vector<ReferenceTensor> expected(3);
    if (trial.has_values()) expected = {trial.values_of(keys), trial.values_of(values), {query.shape(), {}, DType::f32}};
    const Tensor turned = rope_into_cache(query, key, value, places, table, style, keys, values);
    trial.expect_true(turned.shape() == query.shape(), "queries of another shape");
    if (!trial.has_values()) return;
    std::vector<ReferenceTensor> inputs;
    for (const Tensor* input : {&query, &key, &value, &table, &places.positions, &places.slots}) inputs.push_back(trial.values_of(*input));
    const RopeParams params{style};
    std::vector<bool> written(static_cast<size_t>(slots));
    for (const int32_t slot : to) {
      if (slot >= 0) written[static_cast<size_t>(slot)] = true;
    }
    rule(OpId::rope_into_cache).reference(&params, inputs, expected);
    // What was not written is what it was, to the bit.
    const auto of_written = [&](std::vector<double> bounds, int64_t width) {
      for (size_t i = 0; i < bounds.size(); ++i)
        if (!written[i / static_cast<size_t>(width) % static_cast<size_t>(slots)]) bounds[i] = 0;
      return bounds;
    };
    trial.expect_values(expected[2], turned, rope_bound(DType::f32)(inputs, expected[2]));
    trial.expect_values(expected[0], keys, of_written(cache_bound(dtype, turned_key_bound)(inputs, expected[0]), c.head_dim));
    trial.expect_values(expected[1], values, of_written(cache_bound(dtype, exact)(inputs, expected[1]), c.value_dim()));
  });
}

}  // namespace

void add_rope_cases(CaseList& list) {
  for (const RopeStyle style : {RopeStyle::interleaved, RopeStyle::half_split}) {
    for (const int64_t head_dim : {2, 6, 8, 64, 70, 80, 128}) {
      for (const int64_t pairs : {head_dim / 2, head_dim / 4, int64_t{1}}) {
        if (pairs == 0) continue;
        add(list, {3, 5, head_dim}, pairs, style, DType::f32, View::contiguous, View::contiguous);
      }
    }
    add(list, {2, 3, 9}, 4, style, DType::f32, View::contiguous, View::contiguous);
    add(list, {2, 3, 9}, 0, style, DType::f32, View::contiguous, View::contiguous);
    const Shape shape{4, 3, 16};
    for (const View view : views_of(shape)) {
      for (const DType dtype : kFloatDTypes) add(list, shape, 8, style, dtype, view, View::contiguous);
    }
    for (const View view : views_of({4, 8, 2})) add(list, shape, 8, style, DType::f32, View::contiguous, view);
    add(list, {0, 3, 16}, 8, style, DType::f32, View::contiguous, View::contiguous);
    add(list, {3, 0, 16}, 8, style, DType::f32, View::contiguous, View::contiguous);
    add(list, {70, 33, 64}, 32, style, DType::f32, View::contiguous, View::contiguous);
    for (const DType dtype : kCacheDTypes) {
      for (const int64_t tokens : {1, 2, 7, 33}) {
        add_into_cache(list, {tokens, 4, 2, 64, 32}, style, dtype);
        add_into_cache(list, {tokens, 3, 1, 96, 16}, style, dtype);
      }
      add_into_cache(list, {1, 32, 8, 128, 64}, style, dtype);
      add_into_cache(list, {40, 9, 3, 64, 32}, style, dtype);
      add_into_cache(list, {2, 4, 2, 32, 0}, style, dtype);
      add_into_cache(list, {5, 4, 2, 96, 16, 32}, style, dtype);
      add_into_cache(list, {5, 4, 2, 32, 16, 128}, style, dtype);
      add_into_cache(list, {0, 4, 2, 32, 16}, style, dtype);
      for (const View view : views_of({3, 2, 32})) add_into_cache(list, {3, 2, 2, 32, 16}, style, dtype, view);
      if (dtype == DType::q8_0) continue;
      for (const int64_t head_dim : {2, 6, 9, 20, 70, 80}) add_into_cache(list, {3, 4, 2, head_dim, head_dim / 2}, style, dtype);
      add_into_cache(list, {3, 4, 2, 20, 3}, style, dtype);
    }
  }
}

}  // namespace wick::conformance
