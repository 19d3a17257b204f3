#include "kernels/attention.h"

#include <fmt/format.h>

#include <numeric>

#include "base/error.h"
#include "kernels/group_options.h"
#include "kernels/group_reduce.h"
#include "kernels/math.h"

namespace wick::kernels {

using ir::Element;
using ir::Kernel;
using ir::KernelBuilder;
using ir::Memory;
using ir::Reduce;
using ir::Type;
using ir::Value;
using ir::Variable;
using ir::Vector;

namespace {

// What the lanes that share one online softmax are: a subgroup, or the group where there are none.
struct Team {
  uint32_t lanes;
  Value lane, index;
};

// How many loads of eight elements stand before the first use, of `count` that a loop does: latency, not bandwidth, is what one token's
// attention waits for.
uint32_t loads_in_flight(uint32_t count) { return std::gcd(count, 8U); }

// Adds the products of eight elements of the key, from element `at` of the head, to the scores of the group's heads.
void score_eight(const Memory& query, const Vector& eight, const Value& at, uint32_t head_dim, std::vector<Variable>& scores) {
  for (uint32_t head = 0; head < scores.size(); ++head) {
    const Vector low = query.load4(at + head * head_dim), high = query.load4(at + (head * head_dim + 4));
    Value part = scores[head];
    for (uint32_t i = 0; i < 4; ++i) {
      part = fma(i < 2 ? low[2 * i] : high[2 * i - 4], unpack_half(eight[i]), part);
      part = fma(i < 2 ? low[2 * i + 1] : high[2 * i - 3], unpack_half(eight[i] >> 16), part);
    }
    scores[head] = part;
  }
}

// Scores of the position whose key begins at word `first`, one for each of the group's heads; a key is read once for all of them.
void score_position(const Memory& query, const Memory& keys, const Value& first, uint32_t head_dim, std::vector<Variable>& scores) {
  const uint32_t batch = loads_in_flight(head_dim / 8);
  first.builder()->loop(0, head_dim / 2, 4 * batch, [&](const Value& word) {
    std::vector<Vector> loaded;
    for (uint32_t i = 0; i < batch; ++i) loaded.push_back(keys.load4(first + word + 4 * i));
    for (uint32_t i = 0; i < batch; ++i) score_eight(query, loaded[i], word * 2U + 8 * i, head_dim, scores);
  });
}

// The running softmax of one head in one lane: the maximum of its team, the lane's own sum, and its eight elements of the output.
struct Running {
  Variable largest, sum;
  std::vector<Variable> elements;
  explicit Running(KernelBuilder& k) : largest(k.variable(k.lowest())), sum(k.variable(0.0F)) {
    for (int i = 0; i < 8; ++i) elements.push_back(k.variable(0.0F));
  }
  // Online softmax: when the maximum moves, what was summed so far is scaled (Milakov & Gimelshein 2018). Gives the position's weight.
  Value add(const Value& new_largest, const Value& score, const Value& exists) {
    const Value weight = select(exists, exp_of_negative(score - new_largest), 0.0F), correction = exp_of_negative(largest - new_largest);
    sum = fma(sum, correction, weight);
    for (Variable& element : elements) element = element * correction;
    largest = new_largest;
    return weight;
  }
  void add_values(const Value& weight, const Vector& eight) {
    for (uint32_t i = 0; i < 8; ++i) elements[i] = fma(weight, unpack_half(i % 2 == 0 ? eight[i / 2] : eight[i / 2] >> 16), elements[i]);
  }
};

// Where one head's part of the answer from one split goes, and the shared memory that the teams meet in.
struct Split {
  Memory sums, stats, parts, team_stats;
  Team team;
  uint32_t teams, head_dim;
  Value index;
};

// Joins the group's teams, each with its own maximum.
void store_split(KernelBuilder& k, const Running& running, const Value& team_sum, const Split& out) {
  const Value t = k.local_id();
  const uint32_t lanes = out.team.lanes * out.teams;
  k.when(out.team.lane == 0, [&] {
    out.team_stats[out.team.index * 2U] = running.largest;
    out.team_stats[out.team.index * 2U + 1U] = team_sum;
  });
  k.barrier();
  Value largest = out.team_stats[k.constant(0U)], sum = k.constant(0.0F);
  for (uint32_t i = 1; i < out.teams; ++i) largest = max(largest, out.team_stats[k.constant(2 * i)]);
  for (uint32_t i = 0; i < out.teams; ++i)
    sum = fma(out.team_stats[k.constant(2 * i + 1)], exp_of_negative(out.team_stats[k.constant(2 * i)] - largest), sum);
  const Value factor = exp_of_negative(running.largest - largest);
  for (uint32_t e = 0; e < 8; ++e) out.parts[t * 8U + e] = running.elements[e] * factor;
  k.barrier();
  k.loop(t, out.head_dim, lanes, [&](const Value& d) {
    Value total = out.parts[d];
    for (uint32_t i = 1; i < lanes * 8 / out.head_dim; ++i) total = total + out.parts[d + i * out.head_dim];
    out.sums[out.index * out.head_dim + d] = total;
  });
  k.when(t == 0, [&] {
    out.stats[out.index * 2U] = largest;
    out.stats[out.index * 2U + 1U] = sum;
  });
  k.barrier();
}

uint32_t team_lanes(const ir::KernelOptions& options) { return options.subgroup_size > 0 ? options.subgroup_size : options.group_size; }

void check_shape(uint32_t head_dim, uint32_t heads, const ir::KernelOptions& options) {
  const uint32_t sharing = head_dim / 8;
  if (head_dim % 8 != 0 || sharing == 0 || team_lanes(options) % sharing != 0 || heads == 0) {
    fail(ErrorCode::unsupported, "attention_decode: {} heads of {} elements for {} lanes", heads, head_dim, team_lanes(options));
  }
}

}  // namespace

Kernel attention_decode(uint32_t head_dim, uint32_t heads, const DeviceCaps& caps) {
  const ir::KernelOptions options = group_options(caps, 128);
  check_shape(head_dim, heads, options);
  const bool subgroups = options.subgroup_size > 0;
  const uint32_t lanes = options.group_size, words = head_dim / 2, sharing = head_dim / 8, teams = lanes / team_lanes(options);
  KernelBuilder k(fmt::format("attention_decode_{}x{}{}", heads, head_dim, subgroup_suffix(options)), options);
  const Memory q = k.buffer("q", Element::f32), keys = k.buffer("keys", Element::u32), values = k.buffer("values", Element::u32);
  const Memory sums = k.output("sums", Element::f32), stats = k.output("stats", Element::f32);
  const Value length = k.parameter("length", Type::u32), capacity = k.parameter("capacity", Type::u32);
  const Value heads_per_kv = k.parameter("heads_per_kv", Type::u32), split_length = k.parameter("split_length", Type::u32);
  const Value scale = k.parameter("scale", Type::f32);
  const Memory query = k.shared(Element::f32, heads * head_dim), weights = k.shared(Element::f32, heads * lanes);
  const Memory parts = k.shared(Element::f32, 8 * lanes), team_stats = k.shared(Element::f32, 2 * teams);
  GroupReduce group(k);
  const Value t = k.local_id(), first_head = k.group_id(0) * heads, cache = first_head / heads_per_kv * capacity * words;
  const Team team{team_lanes(options), subgroups ? k.subgroup_lane() : t, subgroups ? k.subgroup_id() : k.constant(0U)};
  const auto reduced = [&](Reduce reduce, const Value& v) { return subgroups ? subgroup_reduce(reduce, v) : group(reduce, v); };
  k.loop(t, heads * head_dim, lanes, [&](const Value& d) { query[d] = q[first_head * head_dim + d] * scale; });
  k.barrier();

  std::vector<Running> running;
  for (uint32_t head = 0; head < heads; ++head) running.emplace_back(k);
  // Lanes that share a position's values, eight elements each, and how many positions a team reads at once.
  const Value unit = team.lane % sharing, slice = team.lane / sharing;
  const uint32_t slices = team.lanes / sharing;
  const Value begin = k.group_id(1) * split_length, end = min(begin + split_length, length);
  k.loop(begin, end, lanes, [&](const Value& first) {
    const Value team_first = first + team.index * team.lanes, position = first + t, exists = position < end;
    std::vector<Variable> scores;
    for (uint32_t head = 0; head < heads; ++head) scores.push_back(k.variable(0.0F));
    // Lanes beyond the end read the last position again, and give it no weight: nothing waits for a branch.
    score_position(query, keys, cache + min(position, end - 1U) * words, head_dim, scores);
    for (uint32_t head = 0; head < heads; ++head) {
      const Value score = select(exists, scores[head], k.lowest());
      const Value largest = max(running[head].largest, reduced(Reduce::maximum, score));
      weights[t + head * lanes] = running[head].add(largest, score, exists);
    }
    k.barrier();
    const uint32_t batch = loads_in_flight(sharing);
    k.loop(slice, team.lanes, slices * batch, [&](const Value& at) {
      std::vector<Vector> loaded;
      for (uint32_t i = 0; i < batch; ++i)
        loaded.push_back(values.load4(cache + min(team_first + at + i * slices, end - 1U) * words + unit * 4U));
      for (uint32_t i = 0; i < batch; ++i) {
        for (uint32_t head = 0; head < heads; ++head) {
          running[head].add_values(weights[team.index * team.lanes + at + (i * slices + head * lanes)], loaded[i]);
        }
      }
    });
    k.barrier();
  });

  Split out{sums, stats, parts, team_stats, team, teams, head_dim, k.constant(0U)};
  for (uint32_t head = 0; head < heads; ++head) {
    const Value team_sum = reduced(Reduce::add, running[head].sum);
    out.index = (first_head + head) * k.group_count(1) + k.group_id(1);
    store_split(k, running[head], team_sum, out);
  }
  return k.finish();
}

Kernel attention_join(uint32_t head_dim, const DeviceCaps& caps) {
  const ir::KernelOptions options{.group_size = group_options(caps, 128).group_size};
  KernelBuilder k(fmt::format("attention_join_{}", head_dim), options);
  const Memory sums = k.buffer("sums", Element::f32), stats = k.buffer("stats", Element::f32), out = k.output("out", Element::f32);
  const Value splits = k.parameter("splits", Type::u32), head = k.group_id();
  Variable largest = k.variable(k.lowest());
  k.loop(0, splits, 1, [&](const Value& i) { largest = max(largest, stats[(head * splits + i) * 2U]); });
  k.loop(k.local_id(), head_dim, options.group_size, [&](const Value& d) {
    Variable sum = k.variable(0.0F), total = k.variable(0.0F);
    k.loop(0, splits, 1, [&](const Value& i) {
      const Value split = head * splits + i, factor = exp_of_negative(stats[split * 2U] - largest);
      sum = fma(factor, stats[split * 2U + 1U], sum);
      total = fma(factor, sums[split * head_dim + d], total);
    });
    out[head * head_dim + d] = total / sum;
  });
  return k.finish();
}

}  // namespace wick::kernels
