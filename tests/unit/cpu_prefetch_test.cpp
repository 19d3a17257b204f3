// Prefetch distances of the CPU: how they are learnt, kept and read back.
#include "wick/backend/cpu/weights/prefetch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>
#include <vector>

#include "temporary_folder.h"

namespace wick::cpu {
namespace {

constexpr StreamId kStream{StreamKind::gemv, DType::q4_k};

// Feeds a tuner with runs on a machine that takes seconds(distance) a byte, until it settles.
template <class Seconds>
int64_t tune(PrefetchTuner& tuner, const Seconds& seconds) {
  for (int run = 0; run < 100'000; ++run) {
    const int64_t distance = tuner.next();
    if (tuner.add(distance, seconds(distance))) return tuner.settled();
  }
  return -1;
}

TEST(PrefetchTuner, SettlesOnTheFastestDistance) {
  for (const int64_t best : kPrefetchDistances) {
    PrefetchTuner tuner;
    EXPECT_EQ(tuner.settled(), -1);
    EXPECT_EQ(tune(tuner, [&](int64_t distance) { return distance == best ? 1.0 : 1.1; }), best);
    EXPECT_EQ(tuner.next(), best);
  }
}

TEST(PrefetchTuner, IsNotMisledByNoiseAndPreemption) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 0.05);
  std::uniform_int_distribution<int> percent(0, 99);
  for (const int64_t best : kPrefetchDistances) {
    PrefetchTuner tuner;
    const auto seconds = [&](int64_t distance) {
      const double time = (distance == best ? 1.0 : 1.1) + noise(random);
      return percent(random) < 20 ? 50 * time : time;
    };
    EXPECT_EQ(tune(tuner, seconds), best);
  }
}

TEST(PrefetchTuner, CountsNoRunThatBeganInAnEarlierRound) {
  PrefetchTuner tuner;
  const int64_t late = kPrefetchDistances.back();
  const size_t first_round = kPrefetchDistances.size() * PrefetchTuner::kSamplesOfFirstRound;
  for (size_t run = 0; run < first_round; ++run) {
    const int64_t distance = tuner.next();
    EXPECT_FALSE(tuner.add(distance, distance == late ? 2.0 : 1.0));
  }
  EXPECT_FALSE(tuner.add(late, 0.0));  // it has dropped out
  EXPECT_NE(tune(tuner, [](int64_t) { return 1.0; }), late);
}

TEST(PrefetchDistances, TextIsReadBack) {
  const std::vector<PrefetchDistance> distances = {
      {kStream, 8192}, {{StreamKind::skinny_gemm, DType::f16}, 0}, {{StreamKind::kv_cache, DType::q8_0}, 2816}};
  EXPECT_EQ(to_text(distances), "gemv q4_k 8192\nskinny_gemm f16 0\nkv_cache q8_0 2816\n");
  EXPECT_EQ(parse_distances(to_text(distances)), distances);
  EXPECT_EQ(parse_distances(""), std::vector<PrefetchDistance>());
}

TEST(PrefetchDistances, TextOfAnotherFormIsRefusedWhole) {
  for (const char* text : {"gemv q4_k 8191", "gemv q4_k -1", "gemv q4_k", "gemv q9_k 8192", "gemm q4_k 8192", "gemv q4_k 8192 ", "\n",
                           "gemv q4_k 8192\ngemv q5_k 99999999999999999999", "gemv q4_k 0x0"}) {
    EXPECT_EQ(parse_distances(text), std::nullopt) << text;
  }
}

int64_t used_distance(PrefetchTable& table, StreamId stream, int64_t initial) {
  int64_t used = -1;
  table.run(stream, initial, 1, [&](int64_t distance) { used = distance; });
  return used;
}

// Two passes over weights of so many bytes, whose runs are quickest with prefetch of `best` bytes.
void learn(PrefetchTable& table, int64_t best = 8192, int64_t bytes = PrefetchTable::kMemoryPassBytes) {
  std::byte weights{};
  table.note_weights(&weights, bytes);
  table.note_weights(&weights, bytes);
  for (int run = 0; run < 10'000 && used_distance(table, kStream, -2) == -2; ++run) {
    table.run(kStream, 0, PrefetchTable::kMinRunBytes, [&](int64_t distance) {
      const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(distance == best ? 5 : 20);
      while (std::chrono::steady_clock::now() < end) {}
    });
  }
}

TEST(PrefetchTable, KeepsWhatItLearntForTheNextRun) {
  const TemporaryFolder folder;
  const std::string cache = folder / "cache";
  {
    PrefetchTable table("a processor", cache, std::nullopt);
    learn(table);
    EXPECT_EQ(table.known(), (std::vector<PrefetchDistance>{{kStream, 8192}}));
  }
  PrefetchTable same("a processor", cache, std::nullopt);
  EXPECT_EQ(used_distance(same, kStream, 0), 8192);
  EXPECT_EQ(used_distance(same, {StreamKind::gemv, DType::q6_k}, 1024), 1024);
  PrefetchTable other("another processor", cache, std::nullopt);
  EXPECT_EQ(used_distance(other, kStream, 0), 0);
}

TEST(PrefetchTable, IgnoresADamagedFile) {
  const TemporaryFolder folder;
  const std::string cache = folder / "cache";
  {
    PrefetchTable table("a processor", cache, std::nullopt);
    learn(table);
  }
  for (const auto& entry : std::filesystem::directory_iterator(cache)) {
    std::vector<std::byte> bytes = read_bytes(entry.path());
    ASSERT_FALSE(bytes.empty());
    bytes.back() ^= std::byte{1};
    write_bytes(entry.path(), bytes);
  }
  PrefetchTable table("a processor", cache, std::nullopt);
  EXPECT_TRUE(table.known().empty());
}

TEST(PrefetchTable, IgnoresAnEntryThatSaysSomethingElse) {
  const TemporaryFolder folder;
  const std::string cache = folder / "cache";
  const std::string text = "gemv q4_k 8192\ngemv q5_k fast\n";
  ProgramCache(cache).store("CPU prefetch distances 1\na processor", std::as_bytes(std::span(text)));
  PrefetchTable table("a processor", cache, std::nullopt);
  EXPECT_TRUE(table.known().empty());
}

TEST(PrefetchTable, AddsToWhatOthersLearntMeanwhile) {
  const TemporaryFolder folder;
  const std::string cache = folder / "cache";
  PrefetchTable table("a processor", cache, std::nullopt);
  const std::string text = "gemv q6_k 4096\n";
  ProgramCache(cache).store("CPU prefetch distances 1\na processor", std::as_bytes(std::span(text)));
  learn(table);
  PrefetchTable next("a processor", cache, std::nullopt);
  EXPECT_EQ(next.known(), (std::vector<PrefetchDistance>{{kStream, 8192}, {{StreamKind::gemv, DType::q6_k}, 4096}}));
}

TEST(PrefetchTable, AForcedDistanceIsUsedForEveryStreamAndNothingIsLearnt) {
  const TemporaryFolder folder;
  PrefetchTable table("a processor", folder / "cache", 4096);
  EXPECT_EQ(used_distance(table, kStream, 0), 4096);
  EXPECT_EQ(used_distance(table, {StreamKind::kv_cache, DType::f16}, 8192), 4096);
  learn(table);
  EXPECT_TRUE(table.known().empty());
  EXPECT_FALSE(std::filesystem::exists(folder / "cache"));
}

TEST(PrefetchTable, LearnsNothingFromWeightsThatACoresOwnCachesHold) {
  PrefetchTable table("a processor", "", std::nullopt);
  std::byte weights{};
  for (int pass = 0; pass < 10; ++pass) table.note_weights(&weights, PrefetchTable::kSharedCachePassBytes / 2);
  for (int run = 0; run < 2'000; ++run) {
    EXPECT_EQ(used_distance(table, kStream, 1024), 1024);
    table.run(kStream, 1024, PrefetchTable::kMinRunBytes, [](int64_t distance) { EXPECT_EQ(distance, 1024); });
  }
  EXPECT_TRUE(table.known().empty());
}

TEST(PrefetchTable, LearnsFromWeightsInASharedCacheForThisProcessAlone) {
  const TemporaryFolder folder;
  PrefetchTable table("a processor", folder / "cache", std::nullopt);
  learn(table, 1024, PrefetchTable::kMemoryPassBytes - 1);
  EXPECT_EQ(used_distance(table, kStream, 0), 1024);
  EXPECT_TRUE(table.known().empty());
  EXPECT_TRUE(std::filesystem::is_empty(folder / "cache"));
  // A larger model learns its own.
  learn(table);
  EXPECT_EQ(used_distance(table, kStream, 0), 8192);
  EXPECT_EQ(table.known(), (std::vector<PrefetchDistance>{{kStream, 8192}}));
}

TEST(PrefetchTable, ThreadsLearnTogether) {
  PrefetchTable table("a processor", "", std::nullopt);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) threads.emplace_back([&] { learn(table); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(table.known().size(), 1U);
}

TEST(Processor, HasAnIdentity) {
  if (!std::ifstream("/proc/cpuinfo")) GTEST_SKIP() << "needs /proc/cpuinfo";
  const std::string identity = processor_identity();
  EXPECT_FALSE(identity.empty());
  EXPECT_EQ(identity, processor_identity());
  EXPECT_EQ(identity.find("processor\t"), std::string::npos);
  EXPECT_EQ(identity.find("MHz"), std::string::npos);
}

}  // namespace
}  // namespace wick::cpu
