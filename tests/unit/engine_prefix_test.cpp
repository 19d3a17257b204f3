// What an engine keeps of prompts: in the pool, in host memory, in files.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "unit/engine_samples.h"
#include "unit/message_of.h"
#include "unit/temporary_folder.h"
#include "wick/engine/prefix_store.h"

namespace wick {
namespace {

using Sample = EngineSample;

std::vector<TokenId> sequence_of(int64_t count, int32_t first) {
  std::vector<TokenId> tokens(static_cast<size_t>(count));
  for (int64_t index = 0; index < count; ++index) tokens[static_cast<size_t>(index)] = static_cast<TokenId>((first + index * 7) % 500);
  return tokens;
}

int64_t cached(const Answer& answer) { return answer.finishes.at(0).usage.cached_tokens; }

TEST(PrefixCache, ThePromptIsFoundAgainToItsLastCommonToken) {
  Sample sample;
  Engine& engine = sample.engine();
  const std::vector<TokenId> prompt = sequence_of(100, 1);
  EXPECT_EQ(cached(sample.ask(Sample::request(prompt, 3))), 0);
  const Answer again = sample.ask(Sample::request(prompt, 3));
  EXPECT_EQ(cached(again), 99) << "all but the last token, which is computed for its logits";
  EXPECT_EQ(again.only(), Sample::continued(prompt, 3));
  // A conversation: the answer is part of the next prompt.
  std::vector<TokenId> longer = prompt;
  for (const TokenId token : Sample::continued(prompt, 60)) longer.push_back(token);
  (void)sample.ask(Sample::request(prompt, 60));
  EXPECT_EQ(cached(sample.ask(Sample::request(longer, 1))), 159);
  EXPECT_EQ(engine.metrics().prefix_queried_tokens, 100U * 3 + 160);
  EXPECT_EQ(engine.metrics().prefix_hit_tokens, 99U * 2 + 159);
  std::vector<TokenId> other = prompt;
  other[70] = 9;
  const Answer differs = sample.ask(Sample::request(other, 3));
  EXPECT_EQ(cached(differs), 70);
  EXPECT_EQ(differs.only(), Sample::continued(other, 3));
  EXPECT_EQ(cached(sample.ask(Sample::request(longer, 1))), 159) << "the block in which they differ was copied";
  engine.forget_prefixes();
  EXPECT_EQ(cached(sample.ask(Sample::request(prompt, 1))), 0);
}

TEST(PrefixCache, SaltsAndRequestsThatWantNoCacheAreAlone) {
  Sample sample;
  (void)sample.engine();
  const auto ask = [&](const std::string& salt, bool cache) {
    Request request = Sample::request(sequence_of(70, 1), 1);
    request.cache_salt = salt;
    request.cache_prompt = cache;
    return cached(sample.ask(std::move(request)));
  };
  EXPECT_EQ(ask("", false), 0);
  EXPECT_EQ(ask("", false), 0);
  EXPECT_EQ(ask("", true), 0);
  EXPECT_EQ(ask("alice", true), 0);
  EXPECT_EQ(ask("bob", true), 0);
  EXPECT_EQ(ask("alice", true), 69);
  EXPECT_EQ(ask("", true), 69);
}

TEST(PrefixCache, RequestsThatComeTogetherComputeWhatTheyShareOnce) {
  Sample sample;
  Engine& engine = sample.engine({.sequences = 20});
  int64_t rows = 0;
  sample.model.watch = [&](const Batch& batch) { rows += batch.rows(); };
  std::vector<Stream> streams;
  for (int32_t index = 0; index < 20; ++index) {
    std::vector<TokenId> prompt = sequence_of(320, 3);
    prompt.push_back(index);
    streams.push_back(engine.submit(Sample::request(prompt, 1)));
  }
  while (engine.step()) {}
  EXPECT_EQ(rows, 320 + 20);
}

TEST(PrefixCache, HostMemoryKeepsWhatThePoolHasNoRoomFor) {
  Sample sample;
  const EngineOptions options{.context = 128, .sequences = 1, .kv_bytes = 4 * 32 * 16, .cache_ram_bytes = 1 << 20};
  Engine& engine = sample.engine(options);
  const std::vector<TokenId> prompt = sequence_of(100, 1);
  (void)sample.ask(Sample::request(prompt, 2));
  (void)sample.ask(Sample::request(sequence_of(100, 2), 2));  // takes its blocks
  EXPECT_GT(engine.metrics().cache_ram_bytes, 0);
  const Answer again = sample.ask(Sample::request(prompt, 2));
  EXPECT_EQ(cached(again), 99) << "all but the last token, which is computed for its logits";
  EXPECT_EQ(again.only(), Sample::continued(prompt, 2));
  EXPECT_GT(engine.metrics().prefix_restored_tokens, 0U);
}

TEST(PrefixCache, AFolderKeepsPromptsForTheNextEngine) {
  const TemporaryFolder folder;
  Sample sample;
  const EngineOptions options{.sequences = 1, .cache_ram_bytes = 1 << 20, .cache_folder = folder.path() / "kept"};
  const std::vector<TokenId> prompt = sequence_of(100, 1);
  (void)sample.engine(options);
  (void)sample.ask(Sample::request(prompt, 2));
  sample.forget_engine();
  ASSERT_FALSE(std::filesystem::is_empty(options.cache_folder));
  (void)sample.engine(options);
  const Answer again = sample.ask(Sample::request(prompt, 2));
  EXPECT_EQ(cached(again), 99);
  EXPECT_EQ(again.only(), Sample::continued(prompt, 2));
  sample.forget_engine();
  // Damaged files, and those of somebody else, are as good as none.
  for (const auto& entry : std::filesystem::directory_iterator(options.cache_folder)) {
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-20, std::ios::end);
    file << "damage";
  }
  std::ofstream(options.cache_folder / "other.kept") << "WICKKEP1 and no more";
  (void)sample.engine(options);
  const Answer anew = sample.ask(Sample::request(prompt, 2));
  EXPECT_EQ(cached(anew), 0);
  EXPECT_EQ(anew.only(), Sample::continued(prompt, 2));
}

TEST(PrefixCache, ASessionGoesOnInAnotherEngine) {
  const TemporaryFolder folder;
  Sample sample;
  std::vector<TokenId> text = sequence_of(100, 1);
  (void)sample.engine();
  (void)sample.ask(Sample::request(text, 40));
  for (const TokenId token : Sample::continued(text, 40)) text.push_back(token);
  const std::filesystem::path path = folder.path() / "session";
  EXPECT_EQ(sample.running().save_session(text, path), 139);
  Engine& next = sample.engine();
  EXPECT_EQ(next.restore_session(path), 139);
  const Answer answer = sample.ask(Sample::request(text, 5));
  EXPECT_EQ(cached(answer), 139);
  EXPECT_EQ(answer.only(), Sample::continued(text, 5));
  std::ofstream(path) << "something else";
  EXPECT_NE(message_of([&] { (void)next.restore_session(path); }).find("too short"), std::string::npos);
  // The same while it runs on its own thread.
  next.start();
  EXPECT_EQ(next.save_session(text, path), 140);
  EXPECT_EQ(next.restore_session(path), 140);
}

TEST(PrefixStore, TheLastUsedStayWithinTheBudgetAndPartsAreForgotten) {
  PrefixStore store({.memory_bytes = 250});
  const auto bytes = [] { return std::vector<std::byte>(100); };
  store.put(0, sequence_of(10, 1), bytes());
  store.put(0, sequence_of(10, 2), bytes());
  EXPECT_TRUE(store.load(0, sequence_of(10, 1)));  // used last
  store.put(0, sequence_of(10, 3), bytes());
  EXPECT_EQ(store.memory_bytes(), 200);
  EXPECT_EQ(store.longest(0, sequence_of(12, 1)), 10);
  EXPECT_EQ(store.longest(0, sequence_of(12, 2)), 0);
  EXPECT_EQ(store.longest(1, sequence_of(12, 1)), 0);
  EXPECT_FALSE(store.wants(0, sequence_of(5, 1)));
  store.put(0, sequence_of(20, 1), bytes());
  EXPECT_EQ(store.longest(0, sequence_of(30, 1)), 20);
  EXPECT_EQ(store.longest(0, sequence_of(10, 3)), 10) << "the part that was replaced made room";
  store.put(0, sequence_of(10, 4), std::vector<std::byte>(1000));
  EXPECT_LE(store.memory_bytes(), 250);
}

}  // namespace
}  // namespace wick
