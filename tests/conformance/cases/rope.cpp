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

// Positions in the middle of a cache.
void add_into_cache(CaseList& list, const CacheCase& c, RopeStyle style, DType dtype, View view = View::contiguous) {
  const char* style_name = style == RopeStyle::interleaved ? "interleaved" : "half_split";
  const std::string name =
      fmt::format("[{}, {}+{}, {}]/pairs {}/{}/{}", c.tokens, c.heads, c.kv_heads, c.head_dim, c.pairs, style_name, to_string(view));
  list.add(OpId::rope_into_cache, dtype, name, [=](Trial& trial) {
    constexpr int64_t kPast = 2, kRest = 3;
    const Shape cache_shape{c.kv_heads, kPast + c.tokens + kRest, c.head_dim};
    const Shape kv_shape{c.tokens, c.kv_heads, c.head_dim};
    const auto cache = [&] { return trial.weight(cache_shape[0] * cache_shape[1], c.head_dim, dtype).reshape(cache_shape); };
    const Tensor query = trial.input({c.tokens, c.heads, c.head_dim}, DType::f32, view);
    const Tensor key = trial.input(kv_shape, DType::f32, view), value = trial.input(kv_shape, DType::f32, view);
    const Tensor table = trial.input({c.tokens, c.pairs, 2}, DType::f32, View::contiguous, {-1.2, 1.2});
    const Tensor keys = cache(), values = cache();
    const auto places = [&](const Tensor& whole) { return whole.narrow(1, kPast, c.tokens); };
    const Tensor turned = rope_into_cache(query, key, value, table, style, places(keys), places(values));
    const RopeParams params{style};
    trial.expect(OpId::rope, &params, {&query, &table}, turned, rope_bound(DType::f32));
    if (!trial.has_values() || c.tokens == 0) return;
    const std::vector<ReferenceTensor> inputs = {trial.values_of(query), trial.values_of(key), trial.values_of(value),
                                                 trial.values_of(table)};
    std::vector<ReferenceTensor> expected(3);
    for (size_t i = 0; i < 2; ++i) expected[i] = {{c.kv_heads, c.tokens, c.head_dim}, {}, dtype};
    rule(OpId::rope_into_cache).reference(&params, inputs, expected);
    trial.expect_values(expected[0], places(keys), cache_bound(dtype, turned_key_bound)(inputs, expected[0]));
    trial.expect_values(expected[1], places(values), cache_bound(dtype, exact)(inputs, expected[1]));
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
      add_into_cache(list, {0, 4, 2, 32, 16}, style, dtype);
      for (const View view : views_of({3, 2, 32})) add_into_cache(list, {3, 2, 2, 32, 16}, style, dtype, view);
      if (dtype == DType::q8_0) continue;
      for (const int64_t head_dim : {2, 6, 9, 20, 70, 80}) add_into_cache(list, {3, 4, 2, head_dim, head_dim / 2}, style, dtype);
      add_into_cache(list, {3, 4, 2, 20, 3}, style, dtype);
    }
  }
}

}  // namespace wick::conformance
