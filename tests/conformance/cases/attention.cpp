// attention: grouped heads, odd widths, prefill and decode, caches of every dtype that are larger than what is filled; batches of sequences
// in blocks of a cache, and what else scores go through.
#include "wick/tensor/ops/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "conformance/case.h"
#include "wick/op/attention_plan.h"
#include "wick/tensor/ops/op_rule.h"

namespace wick::conformance {
namespace {

struct Sizes {
  int64_t tokens, heads, kv_heads, width, past;
  int64_t positions;  // the cache's capacity
};

// What rows of a result may err by, and their logarithms. A score errs by δ = (4 + 2 √d) · u · scale · Σ |q·k| + 4 u · (|slope · distance|
// + |mask|), so a weight e^(score - max) by 2 δ of itself, and the mean of the values by that and the roundings of a sum of p terms, times
// the largest value. Where f16 is allowed, rounding queries and keys adds 4 · 2^-11 · scale · √Σ (q·k)² to δ, which is √d roundings of each
// and some, and to the whole the roundings of weights and values; f16 below 2^-14 are multiples of 2^-24.
std::vector<std::vector<double>> errors_of(const AttentionParams& params, Inputs inputs) {
  const auto width = static_cast<size_t>(inputs[0].shape[2]), heads = static_cast<size_t>(inputs[0].shape[1]),
             slots = static_cast<size_t>(inputs[1].shape[1]), value_width = static_cast<size_t>(inputs[2].shape[2]);
  const size_t group = heads / static_cast<size_t>(inputs[1].shape[0]);
  const std::vector<double>&starts = inputs[3].values, &lengths = inputs[4].values, &table = inputs[5].values;
  const size_t slopes = params.has_sinks ? 7 : 6, mask = slopes + (params.has_slopes ? 1 : 0);
  std::vector<double> rows, logarithms;
  for (size_t row = 0; row < static_cast<size_t>(inputs[0].shape[0]) * heads; ++row) {
    const size_t token = row / heads, head = row % heads;
    size_t sequence = 0;
    while (starts[sequence + 1] <= static_cast<double>(token)) ++sequence;
    const auto length = static_cast<int64_t>(lengths[sequence]);
    const int64_t place = length - static_cast<int64_t>(starts[sequence + 1]) + static_cast<int64_t>(token);
    const auto [begin, end] = visible_positions(params, place, length);
    double score = 0, value = 0, added = 0;
    double rounded = 0;  // what f16 adds to δ
    for (int64_t position = begin; position < end; ++position) {
      const auto block = static_cast<size_t>(position / params.block_size);
      const auto entry = static_cast<int64_t>(table[sequence * static_cast<size_t>(inputs[5].shape[1]) + block]);
      const size_t slot = head / group * slots + static_cast<size_t>(entry * params.block_size + position % params.block_size);
      double sum = 0, squares = 0, keys = 0;
      for (size_t i = 0; i < width; ++i) {
        const double key = inputs[1].values[slot * width + i];
        const double product = inputs[0].values[row * width + i] * key;
        sum += std::fabs(product);
        squares += product * product;
        keys += std::fabs(key);
      }
      for (size_t i = 0; i < value_width; ++i) value = std::max(value, std::fabs(inputs[2].values[slot * value_width + i]));
      score = std::max(score, sum * params.scale);
      rounded = std::max(rounded, 4 * 0x1p-11 * std::sqrt(squares) * params.scale + keys * 0x1p-24);
      double plus = 0;
      if (params.has_slopes) plus += std::fabs(inputs[slopes].values[head] * static_cast<double>(position - place));
      if (params.has_mask) {
        const auto across = static_cast<size_t>(inputs[mask].shape[2]), down = static_cast<size_t>(inputs[mask].shape[1]);
        const double term = inputs[mask].values[(head * down + token) * across + static_cast<size_t>(position)];
        if (std::isfinite(term)) plus += std::fabs(term);
      }
      added = std::max(added, plus);
    }
    const auto visible = static_cast<double>(end - begin);
    double delta = (4 + 2 * std::sqrt(static_cast<double>(width))) * 0x1p-24 * (score + params.softcap) + 4 * 0x1p-24 * added;
    double error = (16 + 2 * (score + added) + 2 * std::sqrt(visible)) * 0x1p-24;
    if (!params.precise) {
      delta += rounded;
      error += 2 * 0x1p-11 + visible * 0x1p-24;
    }
    rows.insert(rows.end(), value_width, (error + 2 * delta) * value);
    logarithms.push_back(error + 2 * delta);
  }
  return {rows, logarithms};
}

// Compares what attention gives by a plan with the reference, and with `logarithms` its logarithms too.
void expect_attention(Trial& trial, const Tensor& query, const Tensor& key, const Tensor& value, const AttentionPlan& plan,
                      AttentionParams params, const AttentionBiases& biases, const Tensor& result, const Tensor* logarithms = nullptr) {
  params.has_sinks = biases.sinks.has_value();
  params.has_slopes = biases.slopes.has_value();
  params.has_mask = biases.mask.has_value();
  trial.expect_true(result.shape() == Shape{query.dim(0), query.dim(1), value.dim(2)}, "a result of another shape");
  if (!trial.has_values() || result.elements() == 0) return;
  std::vector<ReferenceTensor> inputs;
  for (const Tensor* input : {&query, &key, &value, &plan.starts, &plan.lengths, &plan.table}) inputs.push_back(trial.values_of(*input));
  for (const std::optional<Tensor>* bias : {&biases.sinks, &biases.slopes, &biases.mask}) {
    if (*bias) inputs.push_back(trial.values_of(**bias));
  }
  const Answer& answer = trial.answers().find(OpId::attention, &params, std::move(inputs),
                                              {{result.shape(), {}, DType::f32}, {{query.dim(0), query.dim(1)}, {}, DType::f32}},
                                              [&](Inputs of, const std::vector<ReferenceTensor>&) { return errors_of(params, of); });
  trial.expect_values(answer.expected[0], result, answer.allowed[0]);
  if (logarithms != nullptr) trial.expect_values(answer.expected[1], *logarithms, answer.allowed[1]);
}

Tensor numbers(Trial& trial, const std::vector<int32_t>& values, const Shape& shape) {
  return Tensor::from_vector(values, shape, trial.device());
}

// That of one sequence in one block, as attention() makes it for a SequenceAttention.
void expect_sequence(Trial& trial, const Tensor& query, const Tensor& key, const Tensor& value, const SequenceAttention& sequence) {
  const Tensor result = attention(query, key, value, sequence);
  const auto tokens = static_cast<int32_t>(query.dim(0)), length = static_cast<int32_t>(sequence.past) + tokens;
  const AttentionPlan plan{numbers(trial, {0, tokens}, {2}), numbers(trial, {length}, {1}), numbers(trial, {0}, {1, 1})};
  const AttentionParams params{.scale = sequence.scale, .block_size = key.dim(1), .precise = sequence.precise};
  expect_attention(trial, query, key, value, plan, params, {}, result);
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
    expect_sequence(trial, query, key, value, {1 / std::sqrt(static_cast<float>(s.width)), s.past, precise});
  });
}

// What is in the cache after the filled positions, or after what a token may see, must not matter, whatever it is.
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
    expect_sequence(trial, query, key, value, {0.25F, s.past, precise});
  });
}

// A query of 16 bits is what its numbers are.
void add_narrow_query(CaseList& list, DType dtype, DType of_query) {
  list.add(OpId::attention, dtype, fmt::format("tokens 5 past 17/width 64/query {}", to_string(of_query)), [=](Trial& trial) {
    const Sizes s{5, 4, 2, 64, 17, 30};
    const Tensor query = trial.input({s.tokens, s.heads, s.width}, of_query, View::contiguous, {-2, 2});
    const Tensor key = make_cache(trial, s, dtype, Cache::contiguous), value = make_cache(trial, s, dtype, Cache::contiguous);
    expect_sequence(trial, query, key, value, {0.125F, s.past, true});
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

// --- Batches ---

struct Sequence {
  int64_t tokens, length;
};
struct Heads {
  int64_t heads, kv_heads, width, value_width;
};
struct Pages {
  int64_t block_size;
  bool scattered;
};
// What makes a call another than plain causal attention.
struct Variant {
  const char* name;
  AttentionParams params;
  bool sinks = false, slopes = false, mask = false, logarithms = false;
};

// A cache that the sequences share, whose other slots hold NaN where the dtype has one, and the table, which leads nowhere for positions
// that nobody sees.
struct SharedCache {
  Tensor key, value;
  AttentionPlan plan;
};

SharedCache make_shared_cache(Trial& trial, const std::vector<Sequence>& sequences, const Heads& h, const Pages& pages, DType dtype,
                              const AttentionParams& params) {
  int64_t used = 0, row = 1;
  for (const Sequence& sequence : sequences) {
    const int64_t blocks = (sequence.length + pages.block_size - 1) / pages.block_size;
    used += blocks;
    row = std::max(row, blocks + 1);
  }
  const int64_t blocks = used + 2, slots = blocks * pages.block_size;
  // Numbers 1 … used, or the same in an order without neighbours.
  int64_t step = pages.scattered ? used / 2 + 1 : 1;
  while (std::gcd(step, used) != 1) ++step;
  std::vector<int32_t> starts{0}, lengths, table;
  std::vector<bool> filled(static_cast<size_t>(slots));
  int64_t next = 0;
  for (const Sequence& sequence : sequences) {
    starts.push_back(starts.back() + static_cast<int32_t>(sequence.tokens));
    lengths.push_back(static_cast<int32_t>(sequence.length));
    const int64_t first =
        sequence.tokens == 0 ? sequence.length : visible_positions(params, sequence.length - sequence.tokens, sequence.length).begin;
    for (int64_t block = 0; block < row; ++block) {
      const bool exists = block * pages.block_size < sequence.length, seen = exists && (block + 1) * pages.block_size > first;
      const int64_t place = 1 + (exists ? next++ : 0) * step % used;
      table.push_back(seen ? static_cast<int32_t>(place) : block % 2 == 0 ? -1 : int32_t{1} << 30);
      for (int64_t at = 0; seen && at < pages.block_size; ++at) {
        const int64_t position = block * pages.block_size + at;
        filled[static_cast<size_t>(place * pages.block_size + at)] = position >= first && position < sequence.length;
      }
    }
  }
  const auto cache = [&](int64_t width) {
    if (is_quantized(dtype)) return trial.weight(h.kv_heads * slots, width, dtype).reshape({h.kv_heads, slots, width});
    std::vector<double> values(static_cast<size_t>(h.kv_heads * slots * width));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = filled[i / static_cast<size_t>(width) % static_cast<size_t>(slots)] ? trial.random().uniform(-1, 1) : std::nan("");
    return trial.input_of(values, {h.kv_heads, slots, width}, dtype);
  };
  const auto count = static_cast<int64_t>(sequences.size());
  const Tensor key = cache(h.width), value = cache(h.value_width);
  return {key, value, {numbers(trial, starts, {count + 1}), numbers(trial, lengths, {count}), numbers(trial, table, {count, row})}};
}

std::string text_of(const std::vector<Sequence>& sequences) {
  std::string text;
  for (const Sequence& sequence : sequences) text += fmt::format("{}{} of {}", text.empty() ? "" : " + ", sequence.tokens, sequence.length);
  return text;
}

void add_batch(CaseList& list, DType dtype, const std::vector<Sequence>& sequences, const Heads& h, const Pages& pages,
               const Variant& variant, bool precise) {
  const std::string name =
      fmt::format("batch {}/heads {} of {}/width {} {}/{} blocks of {}/{}{}", text_of(sequences), h.heads, h.kv_heads, h.width,
                  h.value_width, pages.scattered ? "scattered" : "neighbouring", pages.block_size, variant.name, precise ? "/precise" : "");
  list.add(OpId::attention, dtype, name, [=](Trial& trial) {
    int64_t tokens = 0, longest = 1;
    for (const Sequence& sequence : sequences) {
      tokens += sequence.tokens;
      longest = std::max(longest, sequence.length);
    }
    AttentionParams params = variant.params;
    params.scale = 1 / std::sqrt(static_cast<float>(h.width));
    params.block_size = pages.block_size;
    params.precise = precise;
    params.longest = trial.random().below(2) == 0 ? longest : 0;
    const Tensor query = trial.input({tokens, h.heads, h.width}, DType::f32, View::contiguous, {-2, 2});
    const SharedCache cache = make_shared_cache(trial, sequences, h, pages, dtype, params);
    AttentionBiases biases;
    if (variant.sinks) biases.sinks = trial.input({h.heads}, DType::f32, View::contiguous, {-2, 2});
    if (variant.slopes) biases.slopes = trial.input({h.heads}, DType::f32, View::contiguous, {0, 0.25});
    if (variant.mask) {
      std::vector<double> mask(static_cast<size_t>(tokens * (longest + 2)));
      for (double& term : mask) term = trial.random().below(4) == 0 ? -HUGE_VAL : trial.random().uniform(-2, 2);
      std::fill_n(mask.begin(), longest + 2, -HUGE_VAL);  // the first token sees nothing
      biases.mask = trial.input_of(mask, {1, tokens, longest + 2}, DType::f32).broadcast_as({h.heads, tokens, longest + 2});
    }
    if (!variant.logarithms) {
      const Tensor result = attention(query, cache.key, cache.value, cache.plan, params, biases);
      expect_attention(trial, query, cache.key, cache.value, cache.plan, params, biases, result);
      if (dtype != DType::f16 || precise || !trial.has_values()) return;
      const Tensor halves = attention(query, cache.key, cache.value, cache.plan, params, biases, DType::f16);
      return trial.expect_true(halves.to_bytes() == result.to_dtype(DType::f16).to_bytes(), "f16 is not the result rounded");
    }
    const AttentionState state = attention_state(query, cache.key, cache.value, cache.plan, params, biases);
    expect_attention(trial, query, cache.key, cache.value, cache.plan, params, biases, state.value, &state.log_sum_exp);
  });
}

void add_batches(CaseList& list, DType dtype) {
  const Variant plain{"causal", {}};
  const std::vector<std::vector<Sequence>> batches = {
      {{1, 1}},
      {{1, 600}},
      {{70, 70}},
      {{40, 640}},
      {{1, 33}, {1, 1}, {1, 129}, {1, 64}, {1, 1100}},
      {{5, 5}, {0, 0}, {1, 40}, {3, 3}, {0, 17}, {20, 37}, {1, 1}},
      {{2, 30}, {60, 700}, {1, 513}},
  };
  for (const std::vector<Sequence>& sequences : batches) {
    for (const Pages& pages : {Pages{16, true}, Pages{16, false}, Pages{32, true}, Pages{7, true}}) {
      for (const bool precise : {true, false}) {
        add_batch(list, dtype, sequences, {4, 2, 32, 32}, pages, plain, precise);
        add_batch(list, dtype, sequences, {8, 1, 64, 64}, pages, plain, precise);
      }
    }
    add_batch(list, dtype, sequences, {3, 3, 32, 64}, {16, true}, plain, true);
    add_batch(list, dtype, sequences, {6, 2, 96, 32}, {16, true}, {"causal, logarithms", {}, false, false, false, true}, true);
    for (const Variant& variant : {
             Variant{"window 5", {.window = 5}},
             Variant{"window 64", {.window = 64}},
             Variant{"chunk 50", {.chunk = 50}},
             Variant{"full", {.causal = false}},
             Variant{"softcap", {.softcap = 1.5F}},
             Variant{"sinks, logarithms", {}, true, false, false, true},
             Variant{"slopes", {}, false, true},
             Variant{"mask, logarithms", {}, false, false, true, true},
             Variant{"full window 100", {.window = 100, .causal = false}},
             Variant{"everything", {.softcap = 3, .window = 70, .chunk = 100}, true, true, true, true},
             Variant{"deterministic", {.window = 90, .deterministic = true}, true},
         }) {
      for (const bool precise : {true, false}) add_batch(list, dtype, sequences, {8, 2, 32, 32}, {16, true}, variant, precise);
    }
  }
}

}  // namespace

void add_attention_cases(CaseList& list) {
  for (const DType dtype : kCacheDTypes) {
    add_rounded(list, dtype);
    add_batches(list, dtype);
    for (const DType of_query : {DType::f16, DType::bf16}) add_narrow_query(list, dtype, of_query);
  }
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
