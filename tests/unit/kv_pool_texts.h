// A model that remembers texts alone: what it leaves in a KvPool tells all tokens up to there, so that a test can see whose it is.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "wick/model/kv/kv_pool.h"
#include "wick/model/kv/kv_step.h"

namespace wick {

inline constexpr Retention kFull{};
constexpr Retention window(int64_t size) { return {Retention::Kind::window, size}; }
constexpr Retention chunk(int64_t size) { return {Retention::Kind::chunk, size}; }

inline KvLayer layer(Retention retention, int64_t heads = 1, int64_t key_dim = 1, int64_t value_dim = 1) {
  return {.kv_heads = heads, .key_dim = key_dim, .value_dim = value_dim, .dtype = DType::f32, .retention = retention};
}

inline KvPoolOptions options_for(const KvLayout& layout, int64_t context, int64_t sequences, int64_t block_size,
                                 bool keep_prefixes = false) {
  KvPoolOptions options{.context = context, .block_size = block_size, .step = 8, .keep_prefixes = keep_prefixes};
  options.bytes = KvPool::bytes_for(layout, options, sequences);
  return options;
}

inline std::vector<int32_t> numbered(int64_t count, int32_t first = 0) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  for (int64_t index = 0; index < count; ++index) tokens[static_cast<size_t>(index)] = first + static_cast<int32_t>(index);
  return tokens;
}

// What a model would leave behind at a position: a number that depends on all tokens up to there, exact in f32.
inline float content_at(std::span<const int32_t> tokens, size_t position, size_t place) {
  uint64_t hash = place + 1;
  for (size_t index = 0; index <= position; ++index)
    hash = (hash * 6364136223846793005U + static_cast<uint64_t>(tokens[index]) + 1) ^ hash >> 29;
  return static_cast<float>(hash >> 41);
}

// A state: as recurrent as can be.
struct State {
  float sum = 0, count = 0;
  void add(int32_t token) {
    sum = std::fmod(sum * 3 + static_cast<float>(token) + 1, 8191.0F);
    count += 1;
  }
};

inline State state_of(std::span<const int32_t> tokens) {
  State state;
  for (const int32_t token : tokens) state.add(token);
  return state;
}

inline float* numbers(const Tensor& tensor) { return reinterpret_cast<float*>(tensor.storage()->buffer().host_data()); }

// What stands at one position of one head of a layer's keys (kind 0) or values (1).
inline size_t place_of(size_t layer, int64_t kind, int64_t head, int64_t column) {
  return layer * 1000 + static_cast<size_t>(kind * 500 + head * 50 + column);
}

// Writes what a model would write for the rows of a plan.
inline void write_rows(const KvPool& pool, const KvPlan& plan, std::span<const std::vector<int32_t>> texts) {
  const KvLayout& layout = pool.layout();
  for (size_t index = 0; index < layout.layers.size(); ++index) {
    const KvPlan::Group& group = plan.groups[static_cast<size_t>(pool.group_of(static_cast<int64_t>(index)))];
    for (int64_t kind = 0; kind < 2; ++kind) {
      const Tensor& cache = kind == 0 ? pool.keys(static_cast<int64_t>(index)) : pool.values(static_cast<int64_t>(index));
      const int64_t columns = cache.shape()[2];
      for (size_t of = 0; of < texts.size(); ++of) {
        for (auto row = static_cast<size_t>(plan.starts[of]); row < static_cast<size_t>(plan.starts[of + 1]); ++row) {
          for (int64_t at = 0; at < cache.shape()[0] * columns; ++at) {
            const int64_t head = at / columns;
            numbers(cache)[(head * cache.shape()[1] + group.slots[row]) * columns + at % columns] =
                content_at(texts[of], static_cast<size_t>(plan.positions[row]), place_of(index, kind, head, at % columns));
          }
        }
      }
    }
  }
  for (size_t of = 0; of < texts.size() && !layout.states.empty(); ++of) {
    float* all = numbers(pool.states(0));
    State state{all[2 * plan.state_from[of]], all[2 * plan.state_from[of] + 1]};
    for (auto row = static_cast<size_t>(plan.starts[of]); row < static_cast<size_t>(plan.starts[of + 1]); ++row) {
      state.add(texts[of][static_cast<size_t>(plan.positions[row])]);
    }
    all[2 * plan.state_to[of]] = state.sum;
    all[2 * plan.state_to[of] + 1] = state.count;
  }
}

// What attention would read: each position that the first row of a sequence attends to, through the table.
inline void expect_readable(const KvPool& pool, const KvPlan& plan, std::span<const std::vector<int32_t>> texts) {
  const KvLayout& layout = pool.layout();
  for (size_t index = 0; index < layout.layers.size(); ++index) {
    const KvPlan::Group& group = plan.groups[static_cast<size_t>(pool.group_of(static_cast<int64_t>(index)))];
    const Tensor& cache = pool.keys(static_cast<int64_t>(index));
    for (size_t of = 0; of < texts.size(); ++of) {
      const int64_t length = plan.lengths[of];
      const int64_t before = plan.positions[static_cast<size_t>(plan.starts[of])];
      for (int64_t at = layout.layers[index].retention.first_needed(before); at < length; ++at) {
        const int64_t block = group.table[of * static_cast<size_t>(group.blocks) + static_cast<size_t>(at / pool.block_size())];
        const int64_t slot = block * pool.block_size() + at % pool.block_size();
        ASSERT_EQ(numbers(cache)[slot * cache.shape()[2]], content_at(texts[of], static_cast<size_t>(at), place_of(index, 0, 0, 0)))
            << "layer " << index << " position " << at;
      }
    }
  }
}

// Appends tokens to sequences in steps of at most `most` rows. Stops without commit before part `give_up`.
inline void append(KvPool& pool, const Batch& batch, std::span<const std::vector<int32_t>> texts, int64_t most = 1 << 20,
                   int give_up = -1) {
  KvStep step = pool.begin(batch);
  int part = 0;
  for (int64_t first = 0; first < batch.rows(); first += most, ++part) {
    const int64_t count = std::min(most, batch.rows() - first);
    const KvPlan& plan = step.plan(first, count);
    std::vector<std::vector<int32_t>> here;
    for (size_t index = 0; index < batch.sequences.size(); ++index) {
      const SequenceSlice& slice = batch.sequences[index];
      if (slice.first < first + count && slice.first + slice.count > first) here.push_back(texts[index]);
    }
    write_rows(pool, plan, here);
    expect_readable(pool, plan, here);
    if (part == give_up) return;
    step.advance();
  }
  step.commit();
}

inline void append(KvPool& pool, SequenceHandle sequence, std::span<const int32_t> more, int64_t most = 1 << 20,
                   bool is_tentative = false) {
  const std::span<const int32_t> before = pool.tokens(sequence);
  std::vector<int32_t> text(before.begin(), before.end());
  text.insert(text.end(), more.begin(), more.end());
  Batch batch;
  batch.add(sequence, pool.length(sequence), more, Batch::Results::last);
  batch.sequences.back().is_tentative = is_tentative;
  append(pool, batch, std::span(&text, 1), most);
}

// Compares all that save() gives with what was written.
inline void expect_contents(const KvPool& pool, SequenceHandle sequence, const std::vector<int32_t>& text) {
  ASSERT_EQ(pool.length(sequence), std::ssize(text));
  const std::vector<std::byte> bytes = pool.save(sequence);
  std::vector<uint64_t> first(static_cast<size_t>(pool.groups()));  // the first saved position of each group
  std::memcpy(first.data(), bytes.data() + 24, first.size() * 8);
  const size_t begin = 24 + first.size() * 8;
  const auto* at = reinterpret_cast<const float*>(bytes.data() + begin) + text.size();
  ASSERT_EQ(text.empty() ? 0 : std::memcmp(bytes.data() + begin, text.data(), text.size() * 4), 0);
  for (size_t index = 0; index < pool.layout().layers.size(); ++index) {
    const KvLayer& of = pool.layout().layers[index];
    for (int64_t kind = 0; kind < 2; ++kind) {
      const int64_t columns = kind == 0 ? of.key_dim : of.value_dim;
      for (int64_t head = 0; head < of.kv_heads && columns > 0; ++head) {
        const uint64_t saved = first[static_cast<size_t>(pool.group_of(static_cast<int64_t>(index)))];
        ASSERT_LE(saved, static_cast<uint64_t>(of.retention.first_needed(std::ssize(text))));
        for (size_t position = saved; position < text.size(); ++position) {
          for (int64_t column = 0; column < columns; ++column) {
            ASSERT_EQ(*at++, content_at(text, position, place_of(index, kind, head, column)))
                << "layer " << index << " position " << position;
          }
        }
      }
    }
  }
  if (pool.layout().states.empty()) return;
  const State want = state_of(text);
  ASSERT_EQ(*at++, want.sum);
  ASSERT_EQ(*at++, want.count);
}

inline const KvLayout kPlain{.model = "a", .layers = {layer(kFull, 2), layer(kFull)}, .states = {}};

}  // namespace wick
