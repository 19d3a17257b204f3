// Which steps of a queue need a barrier before them.
#include "wick/device/submissions/hazards.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

namespace wick {
namespace {

using HazardRange = Hazards::Range;

constexpr int kBlocks[4] = {};
HazardRange reads(int block, size_t begin = 0, size_t end = 64) { return {&kBlocks[block], begin, end, false}; }
HazardRange writes(int block, size_t begin = 0, size_t end = 64) { return {&kBlocks[block], begin, end, true}; }

bool barrier(Hazards& hazards, std::initializer_list<HazardRange> step) { return hazards.barrier_before(std::vector<HazardRange>(step)); }

TEST(Hazards, AReadWaitsForTheWriteBeforeIt) {
  Hazards hazards;
  EXPECT_FALSE(barrier(hazards, {writes(0)}));
  EXPECT_TRUE(barrier(hazards, {reads(0), writes(1)}));
}

TEST(Hazards, AWriteWaitsForReadsAndWrites) {
  Hazards hazards;
  EXPECT_FALSE(barrier(hazards, {reads(0), writes(1)}));
  EXPECT_TRUE(barrier(hazards, {writes(0)}));
  EXPECT_TRUE(barrier(hazards, {writes(0)}));
}

TEST(Hazards, ReadsDoNotWaitForReads) {
  Hazards hazards;
  EXPECT_FALSE(barrier(hazards, {reads(0), writes(1)}));
  EXPECT_FALSE(barrier(hazards, {reads(0), writes(2)}));
}

TEST(Hazards, OtherBytesAndOtherBlocksDoNotWait) {
  Hazards hazards;
  EXPECT_FALSE(barrier(hazards, {writes(0, 0, 16)}));
  EXPECT_FALSE(barrier(hazards, {writes(0, 16, 32)}));
  EXPECT_FALSE(barrier(hazards, {writes(1, 0, 16)}));
  EXPECT_TRUE(barrier(hazards, {reads(0, 15, 17)}));
}

TEST(Hazards, ABarrierWaitsForEverythingBeforeIt) {
  Hazards hazards;
  EXPECT_FALSE(barrier(hazards, {writes(0)}));
  EXPECT_FALSE(barrier(hazards, {writes(1)}));
  EXPECT_TRUE(barrier(hazards, {reads(0), writes(2)}));
  EXPECT_FALSE(barrier(hazards, {reads(1)}));
  EXPECT_TRUE(barrier(hazards, {reads(2)}));
  hazards.forget();
  EXPECT_FALSE(barrier(hazards, {reads(2)}));
}

// A step that conflicts with one since the last barrier must have got a barrier itself, whatever came between.
TEST(Hazards, NoConflictIsMissedInRandomSteps) {
  std::mt19937 random(7);
  const auto below = [&](size_t end) { return static_cast<size_t>(random()) % end; };
  Hazards hazards;
  std::vector<HazardRange> since;
  int without = 0;
  for (int step = 0; step < 20000; ++step) {
    std::vector<HazardRange> ranges;
    for (size_t i = 0; i < 1 + below(3); ++i) {
      const size_t begin = below(1000);
      ranges.push_back({&kBlocks[below(4)], begin, begin + 1 + below(20), below(3) == 0});
    }
    const bool waits = hazards.barrier_before(ranges);
    if (waits) since.clear();
    without += waits ? 0 : 1;
    for (const HazardRange& range : ranges) {
      for (const HazardRange& earlier : since) {
        const bool apart = range.block != earlier.block || range.end <= earlier.begin || earlier.end <= range.begin;
        ASSERT_TRUE(apart || (!range.writes && !earlier.writes)) << "step " << step;
      }
    }
    since.insert(since.end(), ranges.begin(), ranges.end());
  }
  EXPECT_GT(without, 10000);
}

}  // namespace
}  // namespace wick
