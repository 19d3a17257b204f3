#include "wick/base/block_cache.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace wick {
namespace {

TEST(BlockCache, GivesAlignedBlocksThatDoNotOverlap) {
  std::vector<std::pair<unsigned char*, size_t>> blocks;
  for (size_t bytes = 0; bytes < 200000; bytes = bytes * 3 / 2 + 1) {
    auto* block = static_cast<unsigned char*>(take_block(bytes));
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % kBlockAlignment, 0U);
    std::memset(block, static_cast<int>(blocks.size()), bytes);
    blocks.emplace_back(block, bytes);
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (size_t at = 0; at < blocks[i].second; ++at) ASSERT_EQ(blocks[i].first[at], i);
    give_block(blocks[i].first, blocks[i].second);
  }
}

TEST(BlockCache, AFreedBlockIsTakenAgain) {
  void* block = take_block(1000);
  give_block(block, 1000);
  void* again = take_block(900);
  EXPECT_EQ(again, block);
  give_block(again, 900);
}

TEST(BlockCache, BlocksMayBeFreedByAnotherThread) {
  for (int round = 0; round < 20; ++round) {
    std::vector<std::shared_ptr<std::vector<int>>> objects;
    for (int i = 0; i < 300; ++i) objects.push_back(std::allocate_shared<std::vector<int>>(BlockAllocator<std::vector<int>>(), 3, i));
    std::thread([taken = std::move(objects)]() mutable {
      for (size_t i = 0; i < taken.size(); ++i) EXPECT_EQ(taken[i]->at(2), static_cast<int>(i));
      taken.clear();
    }).join();
  }
}

}  // namespace
}  // namespace wick
