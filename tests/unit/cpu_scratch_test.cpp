// Scratch memory of a thread, and the frames that borrow it.
#include "wick/backend/cpu/scratch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace wick::cpu {
namespace {

TEST(Scratch, WhatAFrameTakesIsAlignedAndApart) {
  Scratch scratch;
  ScratchFrame frame(scratch);
  std::vector<std::pair<std::byte*, size_t>> taken;
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{200'000}, size_t{1} << 20, size_t{3}}) {
    taken.emplace_back(frame.take<std::byte>(bytes), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(taken.back().first) % 64, 0U);
    std::fill_n(taken.back().first, bytes, static_cast<std::byte>(taken.size()));
  }
  for (size_t index = 0; index < taken.size(); ++index) {
    const auto [data, bytes] = taken[index];
    EXPECT_TRUE(std::all_of(data, data + bytes, [&](std::byte value) { return value == static_cast<std::byte>(index + 1); }));
  }
}

TEST(Scratch, TheNextFrameFindsTheSameMemory) {
  Scratch scratch;
  const auto take = [&] {
    ScratchFrame frame(scratch);
    (void)frame.take<float>(1000);
    return frame.take<float>(100'000);
  };
  (void)take();                  // two blocks
  const float* second = take();  // one for both
  EXPECT_EQ(take(), second);
  EXPECT_EQ(take(), second);
}

TEST(Scratch, AnInnerFrameLeavesTheOuterOnesAlone) {
  Scratch scratch;
  ScratchFrame outer(scratch);
  auto* kept = outer.take<int32_t>(1000);
  std::fill_n(kept, 1000, 7);
  std::byte* inside = nullptr;
  for (const size_t bytes : {size_t{100}, size_t{1} << 22}) {
    ScratchFrame inner(scratch);
    inside = inner.take<std::byte>(bytes);
    std::fill_n(inside, bytes, std::byte{9});
  }
  auto* after = outer.take<int32_t>(1000);
  std::fill_n(after, 1000, 8);
  EXPECT_TRUE(std::all_of(kept, kept + 1000, [](int32_t value) { return value == 7; }));
}

// Calls itself with frames of random sizes; each finds its bytes as it wrote them.
void nest(Scratch& scratch, std::mt19937& random, int depth) {
  ScratchFrame frame(scratch);
  std::vector<std::pair<std::byte*, size_t>> taken;
  const auto value = static_cast<std::byte>(depth);
  for (uint32_t i = 0; i < random() % 4; ++i) {
    const size_t bytes = random() % (size_t{1} << (random() % 20));
    taken.emplace_back(frame.take<std::byte>(bytes), bytes);
    std::fill_n(taken.back().first, bytes, value);
    if (depth < 6) nest(scratch, random, depth + 1);
  }
  for (const auto& [data, bytes] : taken) {
    ASSERT_TRUE(std::all_of(data, data + bytes, [&](std::byte found) { return found == value; }));
  }
}

TEST(Scratch, FramesOfAnySizesNest) {
  Scratch scratch;
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) nest(scratch, random, 1);
}

}  // namespace
}  // namespace wick::cpu
