#include "wick/model/kv/kv_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "unit/kv_pool_texts.h"
#include "unit/message_of.h"
#include "wick/base/process.h"

namespace wick {
namespace {

using testing::HasSubstr;

// The slots of a sequence's next `count` positions; nothing is kept of them.
std::vector<int32_t> next_slots(KvPool& pool, SequenceHandle sequence, int64_t count, size_t group = 0) {
  Batch batch;
  batch.add(sequence, pool.length(sequence), numbered(count), Batch::Results::none);
  KvStep step = pool.begin(batch);
  return step.plan(0, count).groups[group].slots;
}

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

TEST(KvPool, OneTextAmongManyTakesNoMemoryOfTheOthers) {
  // 16,384 positions of a head are 2 MiB: a huge page.
  const KvLayout layout{.model = "m", .layers = {layer(kFull, 32, 32, 32)}, .states = {}};
  KvPool pool(Device::cpu(), layout, options_for(layout, 512, 32, 32));
  const auto before = static_cast<int64_t>(anonymous_resident_bytes());
  for (const Tensor* cache : {&pool.keys(0), &pool.values(0)}) {
    std::byte* const elements = cache->storage()->buffer().host_data();
    for (int64_t head = 0; head < 32; ++head) elements[head * cache->layout().stride(0) * int64_t{sizeof(float)}] = std::byte{1};
  }
  EXPECT_LE(static_cast<int64_t>(anonymous_resident_bytes()) - before, 4 << 20);
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

// Steps that pass a chunk or a small window whole let go of what came before them too.
TEST(KvPool, WhateverTheStepsNoMoreIsKeptThanAttentionReads) {
  for (const Retention retention : {chunk(8), chunk(6), chunk(16), window(1), window(3), window(6)}) {
    for (int64_t rows = 1; rows <= 24; ++rows) {
      const KvLayout layout{.model = "w", .layers = {layer(retention)}, .states = {}};
      KvPool pool(Device::cpu(), layout, options_for(layout, 512, 1, 4));
      const SequenceHandle sequence = pool.create();
      for (int64_t length = 0; length + rows <= 240; length += rows) {
        append(pool, sequence, numbered(rows, static_cast<int32_t>(length)), 8);
        const int64_t end = length + rows;
        ASSERT_EQ(pool.usage(0).used, (end + 3) / 4 - std::min(retention.first_needed(end) / 4, (end + 3) / 4))
            << rows << " rows a step, at " << end << ", " << retention.size;
      }
    }
  }
}

TEST(KvPool, AStepOfManyPartsTakesWhatItsWindowPassed) {
  const KvLayout layout{.model = "w", .layers = {layer(window(24)), layer(kFull)}, .states = {}};
  KvPool pool(Device::cpu(), layout, options_for(layout, 512, 1, 4));
  const SequenceHandle sequence = pool.create();
  append(pool, sequence, numbered(24), 8);
  append(pool, sequence, numbered(80, 24), 8);
  expect_contents(pool, sequence, numbered(104));
  // If it is given up after that, it starts again: its earlier state is gone.
  Batch batch;
  batch.add(sequence, 104, numbered(80, 104), Batch::Results::last);
  const std::vector<int32_t> text = numbered(184);
  append(pool, batch, std::span(&text, 1), 8, 9);
  EXPECT_EQ(pool.length(sequence), 0);
  EXPECT_EQ(pool.usage(0).used, 0);
  append(pool, sequence, numbered(30), 8);
  expect_contents(pool, sequence, numbered(30));
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

TEST(KvPool, APromptThatWasSeenIsFoundToItsLastCommonToken) {
  KvPool pool(Device::cpu(), kPlain, options_for(kPlain, 64, 2, 4, true));
  const SequenceHandle first = pool.create_from_prefix(numbered(14));
  EXPECT_EQ(pool.length(first), 0);
  append(pool, first, numbered(14));
  const SequenceHandle beside = pool.create_from_prefix(numbered(13));
  EXPECT_EQ(pool.length(beside), 12);
  expect_contents(pool, beside, numbered(12));
  pool.free(first);
  pool.free(beside);
  EXPECT_EQ(pool.usage(0).kept, 4);
  std::vector<int32_t> other = numbered(14);
  other[5] = 77;
  const SequenceHandle differs = pool.create_from_prefix(other);
  EXPECT_EQ(pool.length(differs), 5);
  EXPECT_EQ(pool.usage(0).used, 2);
  EXPECT_EQ(pool.prefix_tokens_found(), 17);
  EXPECT_EQ(pool.prefix_tokens_asked(), 41);
  // The block in which they differ is copied, and the first text stays.
  append(pool, differs, std::span(other).subspan(5));
  expect_contents(pool, differs, other);
  pool.free(differs);
  for (const std::vector<int32_t>& text : {numbered(14), other}) {
    const SequenceHandle again = pool.create_from_prefix(text);
    expect_contents(pool, again, text);
    pool.free(again);
  }
  EXPECT_EQ(pool.usage(0).used, 0);
  pool.forget_prefixes();
  EXPECT_EQ(pool.usage(0).kept, 0);
  EXPECT_EQ(pool.usage(0).kept, 0);
  EXPECT_EQ(pool.length(pool.create_from_prefix(numbered(14))), 0);
}

TEST(KvPool, AHitInsideABlockOfALiveSequenceLeavesItAlone) {
  KvPool pool(Device::cpu(), kPlain, options_for(kPlain, 64, 2, 4, true));
  const SequenceHandle first = pool.create();
  append(pool, first, numbered(10));
  std::vector<int32_t> other = numbered(9);
  other[7] = 77;
  const SequenceHandle second = pool.create_from_prefix(other);
  EXPECT_EQ(pool.length(second), 7);
  EXPECT_TRUE(pool.shares_last_block(second));
  EXPECT_EQ(pool.usage(0).used, 3);
  append(pool, second, std::span(other).subspan(7));
  EXPECT_FALSE(pool.shares_last_block(second));
  append(pool, first, numbered(3, 10));
  expect_contents(pool, first, numbered(13));
  expect_contents(pool, second, other);
  // What is being written to is found when its sequence has gone.
  EXPECT_EQ(pool.length(pool.create_from_prefix(numbered(13))), 12);
  pool.free(first);
  EXPECT_EQ(pool.length(pool.create_from_prefix(numbered(13))), 13);
}

TEST(KvPool, WithoutRoomForACopyAHitWritesWhereItWasFound) {
  KvPool pool(Device::cpu(), kPlain, options_for(kPlain, 16, 1, 4, true));  // 4 blocks
  const SequenceHandle first = pool.create();
  append(pool, first, numbered(16));
  pool.free(first);
  std::vector<int32_t> other = numbered(16);
  other[6] = 77;
  const SequenceHandle second = pool.create_from_prefix(other);
  EXPECT_EQ(pool.length(second), 6);
  append(pool, second, std::span(other).subspan(6));
  expect_contents(pool, second, other);
  EXPECT_EQ(pool.usage(0).used, 4);
  pool.free(second);
  EXPECT_EQ(pool.length(pool.create_from_prefix(numbered(16))), 6);
}

TEST(KvPool, AStepThatIsGivenUpKeepsWhatAHitFound) {
  KvPool pool(Device::cpu(), kPlain, options_for(kPlain, 64, 2, 4, true));
  const SequenceHandle first = pool.create();
  append(pool, first, numbered(11));
  pool.free(first);
  const SequenceHandle second = pool.create_from_prefix(numbered(9));
  std::vector<int32_t> text = numbered(9);
  text.push_back(77);
  Batch batch;
  batch.add(second, 9, std::span(text).subspan(9), Batch::Results::last);
  append(pool, batch, std::span(&text, 1), 1, 0);
  expect_contents(pool, second, numbered(9));
  pool.free(second);
  EXPECT_EQ(pool.usage(0).used, 0);
  const SequenceHandle again = pool.create_from_prefix(numbered(11));
  expect_contents(pool, again, numbered(11));
}

TEST(KvPool, OnlyTheSameIdentityFindsAPrefix) {
  KvPool pool(Device::cpu(), kPlain, options_for(kPlain, 64, 4, 4, true));
  const SequenceHandle adapted = pool.create(7);
  append(pool, adapted, numbered(12));
  EXPECT_EQ(pool.length(pool.create_from_prefix(numbered(12))), 0);
  EXPECT_EQ(pool.length(pool.create_from_prefix(numbered(12), 8)), 0);
  const SequenceHandle copy = pool.fork(pool.create_from_prefix(numbered(12), 7));
  EXPECT_EQ(pool.length(copy), 12);
  append(pool, copy, numbered(4, 100));
  std::vector<int32_t> longer = numbered(12);
  for (const int32_t token : numbered(4, 100)) longer.push_back(token);
  EXPECT_EQ(pool.length(pool.create_from_prefix(longer, 7)), 16);
  EXPECT_EQ(pool.length(pool.create_from_prefix(longer)), 0);
  EXPECT_EQ(pool.length(pool.restore(pool.save(copy), 9)), 16);
  EXPECT_EQ(pool.length(pool.create_from_prefix(longer, 9)), 16);
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
  std::vector<int32_t> other = numbered(24);
  other[22] = 77;
  const SequenceHandle differs = pool.create_from_prefix(other);
  EXPECT_EQ(pool.length(differs), 22);
  EXPECT_EQ(pool.usage(0).used, 2);  // positions 17 to 21
  append(pool, differs, std::span(other).subspan(22));
  expect_contents(pool, differs, other);
  pool.free(differs);
  const SequenceHandle again = pool.create_from_prefix(numbered(30));
  EXPECT_EQ(pool.length(again), 24);
  EXPECT_EQ(pool.usage(0).used, 2);
  EXPECT_EQ(pool.usage(0).kept, kept - 1) << "two of them, and one is there that the other text left";
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

TEST(KvPool, StatesThatAreWantedAgainAreKeptAndThoseOfEachBlockAreNot) {
  const KvLayout layout{.model = "r", .layers = {layer(kFull)}, .states = {2}};
  KvPoolOptions options{.context = 256, .block_size = 4, .step = 8, .keep_prefixes = true, .snapshots = 5};
  options.bytes = KvPool::bytes_for(layout, options, 1);
  options.sequences = 1;
  KvPool pool(Device::cpu(), layout, options);
  EXPECT_EQ(pool.state_usage().blocks, 1 + 2 + 5);
  const SequenceHandle one = pool.create();
  EXPECT_EQ(pool.rows_to_state(one, 100, 23), 20) << "the last end of a block before the text's";
  EXPECT_EQ(pool.rows_to_state(one, 7, 23), 7);
  EXPECT_EQ(pool.rows_to_state(one, 200, 200), 128) << "each 32 blocks";
  pool.want_state(one, 8);
  EXPECT_EQ(pool.rows_to_state(one, 100, 23), 8);
  append(pool, one, numbered(8));
  EXPECT_EQ(pool.rows_to_state(one, 100, 23), 12);
  append(pool, one, numbered(12, 8));
  for (int32_t token = 20; token < 37; ++token) append(pool, one, numbered(1, token));
  EXPECT_EQ(pool.state_usage().kept, 3) << "of 8 and 20 tokens, and the last one while it decoded";
  pool.free(one);
  for (const auto& [asked, found] : std::vector<std::pair<int64_t, int64_t>>{{39, 36}, {35, 20}, {19, 8}, {7, 0}}) {
    const SequenceHandle again = pool.create_from_prefix(numbered(asked));
    expect_contents(pool, again, numbered(found));
    pool.free(again);
  }
  // Another text parts from it after 25 tokens.
  std::vector<int32_t> other = numbered(25);
  other.resize(40, 77);
  const SequenceHandle two = pool.create_from_prefix(other);
  EXPECT_EQ(pool.length(two), 20);
  EXPECT_EQ(pool.rows_to_state(two, 19, 40), 4);
  pool.free(two);
}

TEST(KvPool, ATentativeStepIsTakenBackToTheStateBeforeIt) {
  const KvLayout layout{.model = "r", .layers = {layer(kFull), layer(window(6))}, .states = {2}};
  for (const bool keeps : {false, true}) {
    KvPool pool(Device::cpu(), layout, options_for(layout, 64, 3, 4, keeps));
    const auto tentative = [&](SequenceHandle sequence, std::span<const int32_t> more, int64_t most = 64) {
      append(pool, sequence, more, most, true);
    };
    const SequenceHandle one = pool.create();
    append(pool, one, numbered(13));
    tentative(one, numbered(6, 13));
    EXPECT_EQ(pool.state_usage().used, 1 + 2) << "both states";
    EXPECT_EQ(pool.truncate(one, 17), 13) << "all of its rows went into the state";
    expect_contents(pool, one, numbered(13));
    EXPECT_EQ(pool.state_usage().used, 1 + 1);
    // In several parts, and with a fork that shares what was there before.
    const SequenceHandle two = pool.fork(one);
    tentative(one, numbered(5, 13), 2);
    EXPECT_EQ(pool.truncate(one, 18), 18) << "all were right";
    EXPECT_EQ(pool.state_usage().used, 1 + 2);
    expect_contents(pool, one, numbered(18));
    tentative(two, numbered(5, 70));
    EXPECT_EQ(pool.truncate(two, 13), 13);
    expect_contents(pool, two, numbered(13));
    // Once the next step has begun it counts as right, whatever comes of that step.
    tentative(one, numbered(2, 18));
    Batch batch;
    batch.add(one, 20, numbered(1, 20), Batch::Results::last);
    { const KvStep step = pool.begin(batch); }
    EXPECT_LT(pool.truncate(one, 19), 18);
    tentative(two, numbered(3, 13));
    pool.free(one);
    pool.free(two);
    EXPECT_EQ(pool.state_usage().used, 1);
    EXPECT_EQ(pool.usage(0).used, 0);
  }
}

TEST(KvPool, AStateOfATentativeStepIsKeptOnceItsTokensAreRight) {
  const KvLayout layout{.model = "r", .layers = {layer(kFull)}, .states = {2}};
  KvPoolOptions options = options_for(layout, 64, 1, 4, true);
  options.sequences = 1;
  options.snapshots = 4;
  options.bytes = KvPool::bytes_for(layout, options, 1);
  KvPool pool(Device::cpu(), layout, options);
  const SequenceHandle one = pool.create();
  append(pool, one, numbered(5));
  EXPECT_EQ(pool.proposals_to_state(one, 1), 2);
  EXPECT_EQ(pool.proposals_to_state(one, 3), 0);
  append(pool, one, numbered(3, 5), 64, true);
  EXPECT_EQ(pool.truncate(one, 7), 5);
  EXPECT_EQ(pool.state_usage().kept, 0);
  append(pool, one, numbered(3, 5));
  append(pool, one, numbered(4, 8), 64, true);
  EXPECT_EQ(pool.state_usage().kept, 0);
  EXPECT_EQ(pool.truncate(one, 12), 12);
  EXPECT_EQ(pool.state_usage().kept, 0) << "as in decoding, that of 12 took the place of that of 8";
  pool.free(one);
  EXPECT_EQ(pool.state_usage().kept, 1);
  EXPECT_EQ(pool.length(pool.create_from_prefix(numbered(14))), 12);
  // Without kept prefixes no step has to end anywhere.
  KvPool plain(Device::cpu(), layout, options_for(layout, 64, 1, 4));
  EXPECT_GT(plain.proposals_to_state(plain.create(), 1), 1000);
}

TEST(KvPool, SnapshotsTakeNoRoomOfAContext) {
  const KvLayout layout{.model = "r", .layers = {layer(kFull)}, .states = {2}};
  KvPoolOptions options{.context = 64, .block_size = 4, .step = 8, .keep_prefixes = true};
  options.bytes = KvPool::bytes_for(layout, options, 1) + 2 * 2 * 4;
  options.sequences = 1;
  options.snapshots = 100;
  const KvPool pool(Device::cpu(), layout, options);
  EXPECT_EQ(pool.state_usage().blocks, 1 + 2 + 2);
  EXPECT_GE(pool.usage(0).blocks, 16);
}

TEST(KvPool, AStateBehindTokensThatNobodyKnowsYetIsNotFound) {
  const KvLayout layout{.model = "r", .layers = {layer(kFull)}, .states = {2}};
  KvPool pool(Device::cpu(), layout, options_for(layout, 64, 3, 4, true));
  const SequenceHandle one = pool.create();
  append(pool, one, numbered(4));
  std::vector<int32_t> unknown;
  for (int64_t index = 0; index < 4; ++index) unknown.push_back(Batch::earlier_token(index));
  append(pool, one, unknown);  // it ends with a block, whose tokens are not known
  pool.free(one);
  const SequenceHandle again = pool.create_from_prefix(numbered(7));
  expect_contents(pool, again, numbered(pool.length(again)));
  const SequenceHandle first = pool.create();
  append(pool, first, unknown);
  pool.free(first);
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

TEST(KvPool, ARestoredWindowIsFoundFromItsLastPositionsAndBefore) {
  const KvLayout layout{.model = "w", .layers = {layer(kFull), layer(window(6)), layer(chunk(8))}, .states = {}};
  const std::vector<int32_t> text = numbered(29);
  KvPool pool(Device::cpu(), layout, options_for(layout, 64, 2, 4, true));
  const SequenceHandle sequence = pool.create();
  append(pool, sequence, text, 4);
  const std::vector<std::byte> bytes = pool.save(sequence);
  // What goes on with it, what asks for its last token again, and what differs in its last ones.
  for (const int64_t length : {29, 28, 27, 24, 23}) {
    KvPool other(Device::cpu(), layout, options_for(layout, 64, 2, 4, true));
    const SequenceHandle restored = other.restore(bytes);
    expect_contents(other, restored, text);
    other.free(restored);
    std::vector<int32_t> prompt(text.begin(), text.begin() + length);
    if (length == 29) prompt.insert(prompt.end(), {90, 91, 92});
    const SequenceHandle again = other.create_from_prefix(prompt);
    ASSERT_EQ(other.length(again), length);
    expect_contents(other, again, numbered(length));
    append(other, again, numbered(5, 50));
  }
}

TEST(KvPool, ARestoredWindowTakesNoMoreThanThereIsRoomFor) {
  const KvLayout layout{.model = "w", .layers = {layer(window(6))}, .states = {}};
  KvPool pool(Device::cpu(), layout, options_for(layout, 64, 2, 4, true));
  const SequenceHandle sequence = pool.create();
  append(pool, sequence, numbered(29), 4);
  const std::vector<std::byte> bytes = pool.save(sequence);
  KvPool other(Device::cpu(), layout, options_for(layout, 64, 1, 4, true));
  const SequenceHandle alone = other.create();
  append(other, alone, numbered(8, 100), 4);
  const SequenceHandle restored = other.restore(bytes);
  expect_contents(other, restored, numbered(29));
  append(other, restored, numbered(3, 29));
  expect_contents(other, restored, numbered(32));
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

}  // namespace
}  // namespace wick
