// Philox 4x32-10 against the known answers that come with Random123 (kat_vectors), and the stream's layout.
#include "wick/op/philox.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "wick/device/random_stream.h"
#include "wick/op/uniform_range.h"

namespace wick {
namespace {

TEST(Philox, GivesThePublishedAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}), (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, TheStreamCountsBlocksInTheLowerHalfOfTheCounter) {
  const uint64_t seed = 0x123456789abcdef0;
  const uint64_t block = 0xfedcba9876543210;
  EXPECT_EQ(stream_block(seed, block), philox({0x76543210, 0xfedcba98, 0, 0}, {0x9abcdef0, 0x12345678}));
  EXPECT_EQ(stream_word(42, 0), 0x9ceaf053);
  EXPECT_EQ(stream_word(42, 6), 0x838f5a6e);
  EXPECT_EQ(stream_pair(42, 2), 0x5742b3d712bf50ad);
}

TEST(RandomStream, DrawsFollowEachOtherFromThreadsToo) {
  RandomStream stream(3);
  EXPECT_EQ(stream.seed(), 3);
  stream.set_seed(7);
  EXPECT_EQ(stream.take(8).offset, 0);
  EXPECT_EQ(stream.take(4).offset, 8);
  EXPECT_EQ(words_of_draw(DType::f32, 5), 8);
  EXPECT_EQ(words_of_draw(DType::f64, 5), 12);
  EXPECT_EQ(words_of_draw(DType::f16, 0), 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int draw = 0; draw < 1000; ++draw) (void)stream.take(4);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stream.take(4).offset, 12 + 16000);
}

TEST(UniformRange, TheCapIsTheLargestNumberBelowHigh) {
  EXPECT_EQ(uniform_range_of(DType::f32, 1, 2).cap, 2 - 0x1p-23);
  EXPECT_EQ(uniform_range_of(DType::f64, 1, 2).cap, 2 - 0x1p-52);
  EXPECT_EQ(uniform_range_of(DType::f16, -1, 1).cap, 1 - 0x1p-11);
  EXPECT_EQ(uniform_range_of(DType::bf16, -3, -2).cap, -2 - 0x1p-6);
  EXPECT_EQ(uniform_range_of(DType::f16, -1, 0).cap, -0x1p-24);
  EXPECT_EQ(uniform_range_of(DType::f8e4m3, 0, 1).cap, 0.9375);
  EXPECT_EQ(uniform_range_of(DType::f16, 0, 1e6).cap, 65504);
  EXPECT_EQ(uniform_range_of(DType::f32, 3, 3).cap, 3);
}

}  // namespace
}  // namespace wick
