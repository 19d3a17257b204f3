#include "wick/model/kv_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "unit/message_of.h"
#include "wick/model/kv_step.h"

namespace wick {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Retention kFull{};
constexpr Retention window(int64_t size) { return {Retention::Kind::window, size}; }
constexpr Retention chunk(int64_t size) { return {Retention::Kind::chunk, size}; }

KvLayer layer(Retention retention, int64_t heads = 1, int64_t key_dim = 1, int64_t value_dim = 1) {
  return {.kv_heads = heads, .key_dim = key_dim, .value_dim = value_dim, .dtype = DType::f32, .retention = retention};
}

KvPoolOptions options_for(const KvLayout& layout, int64_t context, int64_t sequences, int64_t block_size, bool keep_prefixes = false) {
  KvPoolOptions options{.context = context, .block_size = block_size, .step = 8, .keep_prefixes = keep_prefixes};
  options.bytes = KvPool::bytes_for(layout, options, sequences);
  return options;
}

std::vector<int32_t> numbered(int64_t count, int32_t first = 0) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  for (int64_t index = 0; index < count; ++index) tokens[static_cast<size_t>(index)] = first + static_cast<int32_t>(index);
  return tokens;
}

// What a model would leave behind at a position: a number that depends on all tokens up to there, exact in f32.
float content_at(std::span<const int32_t> tokens, size_t position, size_t place) {
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

State state_of(std::span<const int32_t> tokens) {
  State state;
  for (const int32_t token : tokens) state.add(token);
  return state;
}

float* numbers(const Tensor& tensor) { return reinterpret_cast<float*>(tensor.storage()->buffer().host_data()); }

// What stands at one position of one head of a layer's keys (kind 0) or values (1).
size_t place_of(size_t layer, int64_t kind, int64_t head, int64_t column) {
  return layer * 1000 + static_cast<size_t>(kind * 500 + head * 50 + column);
}

// Writes what a model would write for the rows of a plan.
void write_rows(const KvPool& pool, const KvPlan& plan, std::span<const std::vector<int32_t>> texts) {
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
void expect_readable(const KvPool& pool, const KvPlan& plan, std::span<const std::vector<int32_t>> texts) {
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
void append(KvPool& pool, const Batch& batch, std::span<const std::vector<int32_t>> texts, int64_t most = 1 << 20, int give_up = -1) {
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

void append(KvPool& pool, SequenceHandle sequence, std::span<const int32_t> more, int64_t most = 1 << 20) {
  const std::span<const int32_t> before = pool.tokens(sequence);
  std::vector<int32_t> text(before.begin(), before.end());
  text.insert(text.end(), more.begin(), more.end());
  Batch batch;
  batch.add(sequence, pool.length(sequence), more, Batch::Results::last);
  append(pool, batch, std::span(&text, 1), most);
}

// The slots of a sequence's next `count` positions; nothing is kept of them.
std::vector<int32_t> next_slots(KvPool& pool, SequenceHandle sequence, int64_t count, size_t group = 0) {
  Batch batch;
  batch.add(sequence, pool.length(sequence), numbered(count), Batch::Results::none);
  KvStep step = pool.begin(batch);
  return step.plan(0, count).groups[group].slots;
}

// Compares all that save() gives with what was written.
void expect_contents(const KvPool& pool, SequenceHandle sequence, const std::vector<int32_t>& text) {
  ASSERT_EQ(pool.length(sequence), std::ssize(text));
  const std::vector<std::byte> bytes = pool.save(sequence);
  const auto* at = reinterpret_cast<const float*>(bytes.data() + 24) + text.size();
  ASSERT_EQ(text.empty() ? 0 : std::memcmp(bytes.data() + 24, text.data(), text.size() * 4), 0);
  for (size_t index = 0; index < pool.layout().layers.size(); ++index) {
    const KvLayer& of = pool.layout().layers[index];
    for (int64_t kind = 0; kind < 2; ++kind) {
      const int64_t columns = kind == 0 ? of.key_dim : of.value_dim;
      for (int64_t head = 0; head < of.kv_heads && columns > 0; ++head) {
        for (auto position = static_cast<size_t>(of.retention.first_needed(std::ssize(text))); position < text.size(); ++position) {
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

const KvLayout kPlain{.model = "a", .layers = {layer(kFull, 2), layer(kFull)}, .states = {}};

TEST(KvPool, ASequenceAloneLiesContiguously) {
  KvPool pool(Device::cpu(), kPlain, options_for(kPlain, 64, 1, 4));
  for (int round = 0; round < 3; ++round) {
    const SequenceHandle sequence = pool.create();
    append(pool, sequence, numbered(10));
    append(pool, sequence, numbered(1));
    EXPECT_EQ(next_slots(pool, sequence, 53), numbered(53, 11)) << "round " << round;
    pool.free(sequence);
  }
}

TEST(KvPool, SequencesHaveRoomToGrowBesideEachOther) {
  KvPool pool(Device::cpu(), kPlain, options_for(kPlain, 64, 4, 4));
  std::vector<SequenceHandle> all;
  for (int index = 0; index < 4; ++index) all.push_back(pool.create());
  for (int round = 0; round < 6; ++round) {
    for (const SequenceHandle sequence : all) append(pool, sequence, numbered(4));
  }
  for (const SequenceHandle sequence : all) {
    EXPECT_EQ(next_slots(pool, sequence, 1)[0] % 64, 24);
  }
}

TEST(KvPool, ForksShareBlocksUntilOneWrites) {
  KvPool pool(Device::cpu(), kPlain, options_for(kPlain, 32, 2, 4));
  const SequenceHandle one = pool.create();
  append(pool, one, numbered(10));
  EXPECT_EQ(pool.usage(0).used, 3);
  const SequenceHandle two = pool.fork(one);
  EXPECT_EQ(pool.usage(0).used, 3);
  append(pool, two, numbered(1, 100));
  EXPECT_EQ(pool.usage(0).used, 4);  // the last block, which was not full
  append(pool, one, numbered(1, 200));
  EXPECT_EQ(pool.usage(0).used, 4);
  std::vector<int32_t> text = numbered(10);
  text.push_back(100);
  expect_contents(pool, two, text);
  text.back() = 200;
  expect_contents(pool, one, text);
  pool.free(one);
  expect_contents(pool, two, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 100});
  pool.free(two);
  EXPECT_EQ(pool.usage(0).used, 0);
  EXPECT_EQ(pool.live_sequences(), 0);
}

TEST(KvPool, AWindowKeepsItsPositionsAlone) {
  const KvLayout layout{.model = "w", .layers = {layer(kFull), layer(window(6)), layer(chunk(8))}, .states = {}};
  KvPool pool(Device::cpu(), layout, options_for(layout, 256, 1, 4));
  EXPECT_EQ(pool.groups(), 3);
  const SequenceHandle sequence = pool.create();
  for (int index = 0; index < 25; ++index) append(pool, sequence, numbered(8, 8 * index), 3);
  EXPECT_EQ(pool.usage(0).used, 50);
  EXPECT_EQ(pool.usage(1).used, 2);  // positions 195 to 199
  EXPECT_EQ(pool.usage(2).used, 0);  // position 200 begins a chunk
  EXPECT_LT(pool.usage(1).blocks, 8);
  expect_contents(pool, sequence, numbered(200));
  EXPECT_EQ(pool.truncate(sequence, 199), 0);  // its chunk is gone
}

TEST(KvPool, LatentRowsAreKeysAlone) {
  const KvLayout layout{.model = "l", .layers = {layer(kFull, 1, 5, 0)}, .states = {}};
  KvPool pool(Device::cpu(), layout, options_for(layout, 16, 1, 4));
  EXPECT_EQ(pool.values(0).elements(), 0);
  EXPECT_EQ(pool.bytes(), 16 * 5 * 4);
  const SequenceHandle sequence = pool.create();
  append(pool, sequence, numbered(7));
  expect_contents(pool, sequence, numbered(7));
}

TEST(KvPool, TruncatingGoesBackAsFarAsAsked) {
  KvPool pool(Device::cpu(), kPlain, options_for(kPlain, 32, 1, 4));
  const SequenceHandle sequence = pool.create();
  append(pool, sequence, numbered(14));
  EXPECT_EQ(pool.truncate(sequence, 14), 14);
  EXPECT_EQ(pool.truncate(sequence, 9), 9);
  EXPECT_EQ(pool.usage(0).used, 3);
  append(pool, sequence, numbered(4, 50));
  expect_contents(pool, sequence, {0, 1, 2, 3, 4, 5, 6, 7, 8, 50, 51, 52, 53});
  EXPECT_EQ(pool.truncate(sequence, 0), 0);
  EXPECT_EQ(pool.usage(0).used, 0);
}

TEST(KvPool, APromptThatWasSeenIsFoundByBlocks) {
  KvPool pool(Device::cpu(), kPlain, options_for(kPlain, 64, 2, 4, true));
  const SequenceHandle first = pool.create_from_prefix(numbered(14));
  EXPECT_EQ(pool.length(first), 0);
  append(pool, first, numbered(14));
  const SequenceHandle beside = pool.create_from_prefix(numbered(13));
  EXPECT_EQ(pool.length(beside), 12);
  expect_contents(pool, beside, numbered(12));
  pool.free(first);
  pool.free(beside);
  EXPECT_EQ(pool.usage(0).kept, 3);
  std::vector<int32_t> other = numbered(14);
  other[5] = 77;
  const SequenceHandle differs = pool.create_from_prefix(other);
  EXPECT_EQ(pool.length(differs), 4);
  EXPECT_EQ(pool.prefix_tokens_found(), 16);
  EXPECT_EQ(pool.prefix_tokens_asked(), 41);
  pool.free(differs);
  pool.forget_prefixes();
  EXPECT_EQ(pool.usage(0).kept, 0);
  EXPECT_EQ(pool.length(pool.create_from_prefix(numbered(14))), 0);
}

TEST(KvPool, WhatWasKeptLongestGoesFirstAndEndsBeforeBeginnings) {
  KvPool pool(Device::cpu(), kPlain, options_for(kPlain, 32, 1, 4, true));  // 8 blocks
  const auto keep = [&](int32_t first) {
    const SequenceHandle sequence = pool.create_from_prefix(numbered(12, first));
    append(pool, sequence, numbered(12, first));
    pool.free(sequence);
  };
  keep(100);
  keep(200);
  EXPECT_EQ(pool.usage(0).kept, 6);
  const SequenceHandle other = pool.create();
  append(pool, other, numbered(16, 300));
  pool.free(other);
  EXPECT_EQ(pool.length(pool.create_from_prefix(numbered(12, 100))), 4);
  EXPECT_EQ(pool.length(pool.create_from_prefix(numbered(12, 200))), 12);
}

TEST(KvPool, APrefixOfAWindowNeedsItsLastPositionsAlone) {
  const KvLayout layout{.model = "w", .layers = {layer(window(6))}, .states = {}};
  KvPool pool(Device::cpu(), layout, options_for(layout, 64, 4, 4, true));
  const SequenceHandle first = pool.create();
  append(pool, first, numbered(24), 4);
  pool.free(first);
  const int64_t kept = pool.usage(0).kept;
  const SequenceHandle again = pool.create_from_prefix(numbered(30));
  EXPECT_EQ(pool.length(again), 24);
  EXPECT_EQ(pool.usage(0).used, 2);
  EXPECT_EQ(pool.usage(0).kept, kept - 2);
  append(pool, again, numbered(2, 24));
  expect_contents(pool, again, numbered(26));
  // Blocks that left the window are kept as well, so that it can go back.
  EXPECT_EQ(pool.truncate(again, 15), 15);
  expect_contents(pool, again, numbered(15));
}

TEST(KvPool, StatesGoWithTheirSequences) {
  const KvLayout layout{.model = "r", .layers = {layer(kFull)}, .states = {2}};
  KvPool pool(Device::cpu(), layout, options_for(layout, 64, 3, 4, true));
  const SequenceHandle one = pool.create();
  const SequenceHandle two = pool.create();
  Batch batch;
  batch.add(one, 0, numbered(5), Batch::Results::none);
  batch.add(two, 0, numbered(9, 40), Batch::Results::last);
  const std::vector<std::vector<int32_t>> texts = {numbered(5), numbered(9, 40)};
  append(pool, batch, texts, 4, 2);  // given up in the third part
  EXPECT_EQ(pool.length(one), 0);
  EXPECT_EQ(pool.state_usage().used, 1);
  append(pool, batch, texts, 4);
  expect_contents(pool, one, texts[0]);
  expect_contents(pool, two, texts[1]);
  const SequenceHandle three = pool.fork(two);
  append(pool, three, numbered(3));
  expect_contents(pool, two, texts[1]);
  EXPECT_EQ(pool.truncate(three, 11), 0);  // a sum does not tell its parts
  append(pool, one, numbered(3, 5));
  append(pool, one, numbered(3, 8));
  EXPECT_EQ(pool.truncate(one, 10), 8);  // where a step ended with a block, the state is kept
  expect_contents(pool, one, numbered(8));
  for (const SequenceHandle sequence : {one, two, three}) pool.free(sequence);
  EXPECT_EQ(pool.state_usage().used, 1);
  EXPECT_EQ(pool.length(pool.create_from_prefix(numbered(11))), 8);
}

TEST(KvPool, ASavedSequenceGoesOnInAnotherPool) {
  const KvLayout layout{.model = "s", .layers = {layer(kFull, 2, 3, 2), layer(window(6))}, .states = {2}};
  KvPool pool(Device::cpu(), layout, options_for(layout, 64, 2, 4));
  const SequenceHandle sequence = pool.create();
  append(pool, sequence, numbered(21), 4);
  const std::vector<std::byte> bytes = pool.save(sequence);
  KvPool other(Device::cpu(), layout, options_for(layout, 40, 1, 8));
  const SequenceHandle restored = other.restore(bytes);
  expect_contents(other, restored, numbered(21));
  append(other, restored, numbered(4, 21));
  expect_contents(other, restored, numbered(25));
  const SequenceHandle empty = other.restore(pool.save(pool.create()));
  EXPECT_EQ(other.length(empty), 0);

  KvLayout third = layout;
  third.model = "t";
  KvPool foreign(Device::cpu(), third, options_for(third, 64, 2, 4));
  EXPECT_THAT(message_of(ErrorCode::invalid_argument, [&] { (void)foreign.restore(bytes); }), HasSubstr("of another model than t"));
  KvPool small(Device::cpu(), layout, options_for(layout, 20, 1, 4));
  EXPECT_THAT(message_of(ErrorCode::context_full, [&] { (void)small.restore(bytes); }), HasSubstr("21 positions and the context holds 20"));
  EXPECT_THAT(message_of(ErrorCode::out_of_memory, [&] { (void)other.restore(bytes); }), HasSubstr("blocks of 8 positions are wanted"));
  other.free(empty);
  other.free(restored);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW((void)other.restore(std::span(bytes).first(size)), Error);
    std::vector<std::byte> flipped = bytes;
    flipped[size] ^= std::byte{0x10};
    EXPECT_THROW((void)other.restore(flipped), Error);
  }
  EXPECT_EQ(other.usage(0).used, 0);
  EXPECT_EQ(other.live_sequences(), 0);
}

// --- Bad input ---

TEST(KvPool, BadBatchesAreRefusedWhole) {
  KvPool pool(Device::cpu(), kPlain, options_for(kPlain, 16, 2, 4));
  KvPool other(Device::cpu(), kPlain, options_for(kPlain, 16, 2, 4));
  const SequenceHandle sequence = pool.create();
  append(pool, sequence, numbered(5));
  const SequenceHandle gone = pool.create();
  pool.free(gone);
  const SequenceHandle reused = pool.create();  // in the freed one's place
  ASSERT_EQ(reused.index, gone.index);
  const auto message = [&](ErrorCode code, const std::function<void(Batch&)>& change) {
    Batch batch;
    batch.add(sequence, 5, numbered(3), Batch::Results::last);
    change(batch);
    const std::string text = message_of(code, [&] { (void)pool.begin(batch); });
    EXPECT_EQ(pool.length(sequence), 5);
    EXPECT_EQ(pool.usage(0).used, 2);
    EXPECT_EQ(pool.live_sequences(), 2);
    return text;
  };
  const auto bad = ErrorCode::invalid_argument;
  EXPECT_EQ(message(bad, [](Batch& batch) { batch = {}; }), "batch: no sequence; give the tokens of at least one");
  EXPECT_EQ(message(bad, [](Batch& batch) { batch.positions.pop_back(); }), "batch: 3 tokens and 2 positions; give one position a token");
  EXPECT_EQ(message(bad, [](Batch& batch) { batch.sequences[0].count = 2; }), "batch: its slices have 2 rows and it has 3 tokens");
  EXPECT_THAT(message(bad, [](Batch& batch) { batch.sequences[0].first = 1; }), HasSubstr("slice 0 has 3 rows from row 1 on, of 3"));
  EXPECT_THAT(message(bad, [](Batch& batch) { batch.sequences[0].count = 0; }), HasSubstr("slice 0 has 0 rows"));
  EXPECT_THAT(message(bad, [](Batch& batch) { batch.sequences[0].count = int64_t{1} << 62; }), HasSubstr("slice 0 has"));
  EXPECT_EQ(message(ErrorCode::index_out_of_range, [](Batch& batch) { batch.logit_rows = {3}; }), "batch: logit row 3 of 3 rows");
  EXPECT_EQ(message(bad, [](Batch& batch) { batch.positions[1] = 7; }),
            "batch: row 1 is position 7 of a sequence, and the next one there is 6");
  EXPECT_EQ(message(bad, [](Batch& batch) { batch.positions = {6, 7, 8}; }),
            "batch: row 0 is position 6 of a sequence, and the next one there is 5");
  EXPECT_EQ(message(ErrorCode::context_full,
                    [&](Batch& batch) {
                      batch = {};
                      batch.add(sequence, 5, numbered(12), Batch::Results::last);
                    }),
            "context full: 5 tokens are in it and 12 more are to come, but it holds 16; shorten the prompt or ask for a larger context");
  EXPECT_EQ(message(bad, [&](Batch& batch) { batch.add(sequence, 8, numbered(1), Batch::Results::last); }),
            "batch: sequence 0 is in it twice; give all its tokens in one slice");
  EXPECT_EQ(message(bad, [&](Batch& batch) { batch.add(gone, 0, numbered(1), Batch::Results::last); }), "batch: sequence 1 was freed");
  EXPECT_EQ(message(bad, [&](Batch& batch) { batch.add(other.create(), 0, numbered(1), Batch::Results::last); }),
            "batch: the handle is of another pool; each pool has its own");
  EXPECT_THAT(message(ErrorCode::out_of_memory,
                      [&](Batch& batch) {
                        batch.add(reused, 0, numbered(16), Batch::Results::last);
                        batch.add({}, 0, numbered(16), Batch::Results::last);
                      }),
              HasSubstr("the pool is full: 8 more blocks of 4 positions are wanted, and 6 of 8 are there"));
  expect_contents(pool, sequence, numbered(5));
}

TEST(KvPool, BadHandlesAreRefused) {
  KvPool pool(Device::cpu(), kPlain, options_for(kPlain, 16, 2, 4));
  KvPool other(Device::cpu(), kPlain, options_for(kPlain, 16, 2, 4));
  const SequenceHandle sequence = pool.create();
  pool.free(sequence);
  const std::vector<std::pair<SequenceHandle, std::string>> bad = {
      {sequence, "was freed"}, {other.create(), "of another pool"}, {{}, "of no pool"}, {{sequence.pool, 5, 0}, "5 was freed"}};
  for (const auto& [handle, text] : bad) {
    EXPECT_THAT(message_of(ErrorCode::invalid_argument, [&, handle = handle] { pool.free(handle); }), HasSubstr(text));
    EXPECT_THAT(message_of(ErrorCode::invalid_argument, [&, handle = handle] { (void)pool.fork(handle); }), HasSubstr(text));
    EXPECT_THAT(message_of(ErrorCode::invalid_argument, [&, handle = handle] { (void)pool.length(handle); }), HasSubstr(text));
    EXPECT_THAT(message_of(ErrorCode::invalid_argument, [&, handle = handle] { (void)pool.save(handle); }), HasSubstr(text));
    EXPECT_THAT(message_of(ErrorCode::invalid_argument, [&, handle = handle] { (void)pool.truncate(handle, 0); }), HasSubstr(text));
  }
  const SequenceHandle live = pool.create();
  EXPECT_THROW((void)pool.truncate(live, 1), Error);
  EXPECT_THROW((void)pool.truncate(live, -1), Error);
  EXPECT_THROW((void)pool.keys(2), Error);
  EXPECT_THROW((void)pool.values(-1), Error);
  EXPECT_THROW((void)pool.states(0), Error);
  EXPECT_THROW((void)pool.usage(1), Error);
}

TEST(KvPool, AStepIsAloneAndInOrder) {
  KvPool pool(Device::cpu(), kPlain, options_for(kPlain, 16, 2, 4));
  const SequenceHandle sequence = pool.create();
  Batch batch;
  batch.add(sequence, 0, numbered(4), Batch::Results::last);
  {
    KvStep step = pool.begin(batch);
    EXPECT_THAT(message_of(ErrorCode::invalid_argument, [&] { pool.free(sequence); }), HasSubstr("a step of the pool is under way"));
    EXPECT_THROW((void)pool.begin(batch), Error);
    EXPECT_THROW((void)step.plan(1, 1), Error);
    EXPECT_THROW((void)step.plan(0, 5), Error);
    EXPECT_THROW(step.advance(), Error);
    (void)step.plan(0, 2);
    EXPECT_THROW(step.commit(), Error);
    step.advance();
    EXPECT_THROW(step.commit(), Error);
  }
  EXPECT_EQ(pool.length(sequence), 0);
  EXPECT_EQ(pool.usage(0).used, 0);
  pool.free(sequence);
}

TEST(KvPool, SizesThatNoPoolHasAreRefused) {
  const Device cpu = Device::cpu();
  const auto code = [&](const KvLayout& layout, const KvPoolOptions& options) {
    return code_of([&] { const KvPool pool(cpu, layout, options); });
  };
  const KvPoolOptions good = options_for(kPlain, 16, 1, 4);
  KvPoolOptions options = good;
  options.bytes = 3;
  EXPECT_EQ(code(kPlain, options), ErrorCode::invalid_argument);
  options = good;
  options.block_size = 0;
  EXPECT_EQ(code(kPlain, options), ErrorCode::invalid_argument);
  options = good;
  options.context = -1;
  EXPECT_EQ(code(kPlain, options), ErrorCode::invalid_argument);
  KvLayout layout = kPlain;
  layout.layers[0].kv_heads = -1;
  EXPECT_EQ(code(layout, good), ErrorCode::invalid_argument);
  layout = kPlain;
  layout.layers[0].retention = window(0);
  EXPECT_EQ(code(layout, good), ErrorCode::invalid_argument);
  layout = kPlain;
  layout.layers[0].dtype = DType::q8_0;
  EXPECT_EQ(code(layout, good), ErrorCode::unsupported);
  layout.layers[0].dtype = DType::i32;
  EXPECT_EQ(code(layout, good), ErrorCode::unsupported);
}

TEST(KvPool, TheBudgetIsKept) {
  const KvLayout layout{.model = "b", .layers = {layer(kFull, 3, 5, 7), layer(window(20), 2), layer(chunk(9))}, .states = {11, 3}};
  for (const int64_t sequences : {1, 2, 7, 32}) {
    const KvPoolOptions options = options_for(layout, 100, sequences, 8);
    KvPool pool(Device::cpu(), layout, options);
    EXPECT_EQ(pool.bytes(), options.bytes);
    EXPECT_EQ(pool.usage(0).blocks, 13 * sequences);
    EXPECT_EQ(pool.state_usage().blocks, 1 + 2 * sequences);
    KvPoolOptions odd = options;
    odd.bytes += 12345;
    EXPECT_LE(KvPool(Device::cpu(), layout, odd).bytes(), odd.bytes);
  }
}

// --- Random operations against a list of texts ---

struct Trial {
  const char* name;
  KvLayout layout;
  bool keep_prefixes;
};

class RandomOperations {
 public:
  RandomOperations(const Trial& trial, unsigned seed)
      : random_(seed),
        pool_(Device::cpu(), trial.layout, options_for(trial.layout, kContext, 3, 4, trial.keep_prefixes)),
        keeps_(trial.keep_prefixes) {}

  void run(int operations) {
    for (int index = 0; index < operations && !testing::Test::HasFatalFailure(); ++index) {
      SCOPED_TRACE(testing::Message() << "operation " << index);
      one();
      check();
    }
    for (const auto& [handle, text] : live_) pool_.free(handle);
    for (int64_t group = 0; group < pool_.groups(); ++group) EXPECT_EQ(pool_.usage(group).used, 0);
    pool_.forget_prefixes();
    for (int64_t group = 0; group < pool_.groups(); ++group) EXPECT_EQ(pool_.usage(group).kept, 0);
    if (!pool_.layout().states.empty()) {
      EXPECT_EQ(pool_.state_usage().used, 1);
    }
    EXPECT_EQ(pool_.live_sequences(), 0);
    EXPECT_GT(full_, 0);
    if (keeps_) {
      EXPECT_GT(pool_.prefix_tokens_found(), 0);
    }
  }

 private:
  static constexpr int64_t kContext = 48;
  struct Live {
    SequenceHandle handle;
    std::vector<int32_t> text;
  };

  size_t below(size_t count) { return random_() % count; }
  std::vector<int32_t> some_tokens(size_t most) {
    std::vector<int32_t> tokens(1 + below(most));
    // Few different ones, so that texts begin alike.
    for (int32_t& token : tokens) token = below(8) == 0 ? 1 : 0;
    return tokens;
  }

  void one() {
    const size_t choice = below(20);
    if (live_.empty() || choice == 0) return live_.push_back({pool_.create(), {}});
    if (choice == 1) return from_prefix();
    if (choice == 2) return live_.push_back({pool_.fork(some().handle), some_text_});
    if (choice <= 4) return release();
    if (choice <= 6) return truncate();
    if (choice == 7) return save_and_restore();
    if (choice == 8) return misuse();
    step();
  }

  Live& some() {
    Live& one = live_[below(live_.size())];
    some_text_ = one.text;
    return one;
  }

  void from_prefix() {
    const std::vector<int32_t> prompt = some_tokens(30);
    const SequenceHandle handle = pool_.create_from_prefix(prompt);
    const int64_t found = pool_.length(handle);
    ASSERT_LE(found, std::ssize(prompt));
    ASSERT_EQ(found % 4, 0);
    live_.push_back({handle, {prompt.begin(), prompt.begin() + found}});
  }

  void release() {
    const size_t index = below(live_.size());
    freed_ = live_[index].handle;
    pool_.free(*freed_);
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  void truncate() {
    Live& one = some();
    const auto length = static_cast<int64_t>(below(one.text.size() + 1));
    const int64_t restored = pool_.truncate(one.handle, length);
    ASSERT_GE(restored, 0);
    ASSERT_LE(restored, length);
    const bool all_kept = pool_.groups() == 1 && pool_.layout().states.empty();
    if (all_kept || length == std::ssize(one.text)) {
      ASSERT_EQ(restored, length);
    }
    one.text.resize(static_cast<size_t>(restored));
  }

  void save_and_restore() {
    const Live& one = some();
    try {
      live_.push_back({pool_.restore(pool_.save(one.handle)), some_text_});
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::out_of_memory);
    }
  }

  // A batch with one mistake in it.
  void misuse() {
    Batch batch;
    const Live& one = some();
    batch.add(one.handle, std::ssize(one.text), numbered(1), Batch::Results::last);
    const size_t mistake = below(4);
    if (mistake == 0) batch.add(one.handle, std::ssize(one.text), numbered(1), Batch::Results::last);
    if (mistake == 1) batch.positions[0] += 1 + static_cast<int32_t>(below(3));
    if (mistake == 2) batch.add(freed_.value_or(SequenceHandle{1U << 31, 0, 0}), 0, numbered(1), Batch::Results::last);
    if (mistake == 3) batch.add({}, 0, numbered(kContext + 1), Batch::Results::last);
    EXPECT_THROW((void)pool_.begin(batch), Error);
  }

  void step() {
    Batch batch;
    std::vector<std::vector<int32_t>> texts;
    std::vector<Live*> in;
    for (Live& one : live_) {
      if (below(2) == 0) continue;
      const std::vector<int32_t> more = some_tokens(below(4) == 0 ? 12 : 2);
      if (std::ssize(one.text) + std::ssize(more) > kContext) continue;
      batch.add(one.handle, std::ssize(one.text), more, Batch::Results::last);
      texts.push_back(one.text);
      texts.back().insert(texts.back().end(), more.begin(), more.end());
      in.push_back(&one);
    }
    if (below(6) == 0) {
      texts.push_back(some_tokens(9));
      batch.add({}, 0, texts.back(), Batch::Results::all);
    }
    if (batch.sequences.empty()) return;
    const auto most = static_cast<int64_t>(1 + below(20));
    const int give_up = below(4) == 0 ? static_cast<int>(below(3)) : -1;
    const auto parts = static_cast<int>((batch.rows() + most - 1) / most);
    try {
      append(pool_, batch, texts, most, give_up);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::out_of_memory) << error.what();
      ++full_;
      if (below(2) == 0 && !live_.empty()) release();
      return;
    }
    if (give_up >= 0 && give_up < parts) return;
    for (size_t index = 0; index < in.size(); ++index) in[index]->text = texts[index];
  }

  void check() {
    ASSERT_EQ(pool_.live_sequences(), std::ssize(live_));
    for (const Live& one : live_) expect_contents(pool_, one.handle, one.text);
    for (int64_t group = 0; group < pool_.groups(); ++group) {
      const KvPool::Usage usage = pool_.usage(group);
      int64_t most = 0;
      for (const Live& one : live_) most += (std::ssize(one.text) + 3) / 4;
      ASSERT_LE(usage.used, most);
      ASSERT_LE(usage.used + usage.kept, usage.blocks);
    }
  }

  std::mt19937 random_;
  KvPool pool_;
  bool keeps_;
  std::vector<Live> live_;
  std::vector<int32_t> some_text_;
  std::optional<SequenceHandle> freed_;
  int full_ = 0;
};

TEST(KvPool, RandomOperationsLeaveEachSequenceItsOwnTextAndLeakNothing) {
  const KvLayout mixed{
      .model = "m", .layers = {layer(kFull, 2), layer(window(5), 1, 2, 1), layer(kFull, 1, 3, 0), layer(chunk(6))}, .states = {}};
  KvLayout recurrent = mixed;
  recurrent.states = {2};
  const Trial trials[] = {{"plain", kPlain, false},     {"plain, kept", kPlain, true},   {"mixed", mixed, false},
                          {"mixed, kept", mixed, true}, {"recurrent", recurrent, false}, {"recurrent, kept", recurrent, true}};
  for (const Trial& trial : trials) {
    for (const unsigned seed : {1U, 2U, 3U}) {
      SCOPED_TRACE(testing::Message() << trial.name << " seed " << seed);
      RandomOperations(trial, seed).run(400);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace wick
