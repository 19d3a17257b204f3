#include "wick/backend/cpu/cpu_memory.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "wick/base/error.h"
#include "wick/base/platform/build_mode.h"
#include "wick/base/process.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

TEST(CpuMemory, EverySizeIsAlignedCountedAndWritable) {
  const auto pool = std::make_shared<cpu::MemoryPool>();
  for (const Lifetime lifetime : {Lifetime::transient, Lifetime::persistent}) {
    for (const size_t bytes : {0UL, 1UL, 64UL, 65472UL, 65473UL, 1UL << 20, (1UL << 24) - 1, 1UL << 24, (1UL << 24) + 1, 40UL << 20}) {
      const std::unique_ptr<Buffer> buffer = pool->allocate(bytes, lifetime);
      EXPECT_EQ(buffer->bytes(), bytes);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->host_data()) % 64, 0U);
      EXPECT_EQ(pool->allocated_bytes(), bytes);
      std::memset(buffer->host_data(), 1, bytes);
    }
    EXPECT_EQ(pool->allocated_bytes(), 0U);
  }
  EXPECT_EQ(pool->peak_allocated_bytes(), 40UL << 20);
}

TEST(CpuMemory, TheNextLargeResultTakesThePagesOfTheLast) {
  const auto pool = std::make_shared<cpu::MemoryPool>();
  std::unique_ptr<Buffer> first = pool->allocate(64 << 20, Lifetime::transient);
  const std::byte* const address = first->host_data();
  first.reset();
  const std::unique_ptr<Buffer> second = pool->allocate((64 << 20) - 100, Lifetime::transient);
  EXPECT_EQ(second->host_data(), address);
}

// Weights one behind the other share huge pages; a freed one in the middle gives its own pages back.
TEST(CpuMemory, PersistentBlocksAreNeighbours) {
  const auto pool = std::make_shared<cpu::MemoryPool>();
  const size_t bytes = (size_t{3} << 20) + 100;
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (int i = 0; i < 3; ++i) {
    buffers.push_back(pool->allocate(bytes, Lifetime::persistent));
    std::memset(buffers.back()->host_data(), i + 1, bytes);
  }
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffers[0]->host_data()) % kHugePageBytes, 0U);
  EXPECT_LT(buffers[2]->host_data() - buffers[0]->host_data(), static_cast<ptrdiff_t>(2 * bytes + 128));
  buffers[1].reset();
  EXPECT_EQ(buffers[0]->host_data()[bytes - 1], std::byte{1});
  EXPECT_EQ(buffers[2]->host_data()[0], std::byte{3});
  // More than one mapping holds.
  const std::unique_ptr<Buffer> large = pool->allocate((size_t{1} << 30) + 5, Lifetime::persistent);
  large->host_data()[size_t{1} << 30] = std::byte{9};
  buffers.clear();
  EXPECT_EQ(pool->allocated_bytes(), (size_t{1} << 30) + 5);
}

TEST(CpuMemory, BuffersOutliveTheirPoolAndTheirThread) {
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::thread([&] {
    const auto pool = std::make_shared<cpu::MemoryPool>();
    for (const size_t bytes : {8UL, 100000UL, 20UL << 20}) buffers.push_back(pool->allocate(bytes, Lifetime::transient));
  }).join();
  for (const auto& buffer : buffers) std::memset(buffer->host_data(), 7, buffer->bytes());
  buffers.clear();
}

TEST(CpuMemory, ResultsMayBeFreedByAnotherThread) {
  const Device device = Device::cpu();
  std::vector<std::thread> threads;
  for (int worker = 0; worker < 3; ++worker) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        std::vector<Tensor> results;
        for (int i = 0; i < 20; ++i) results.push_back(Tensor::full({8}, i, DType::f32, device) * 2.0);
        std::thread([taken = std::move(results)] {
          for (size_t i = 0; i < taken.size(); ++i) EXPECT_EQ(taken[i].to_vec1<float>().at(7), 2 * static_cast<float>(i));
        }).join();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(CpuMemory, FreshElementsAreNotNumbersInBuildsWithAssertions) {
  if (!platform::kSpoilsFreshMemory) GTEST_SKIP() << "this build does not spoil fresh memory";
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32, DType::f64, DType::f8e4m3}) {
    for (const double value : Tensor::empty({3, 5}, dtype, Device::cpu()).to_dtype(DType::f64).to_vector<double>())
      EXPECT_TRUE(std::isnan(value));
  }
}

// The system hands out address space that it has no memory for; what nobody has written to yet counts all the same.
TEST(CpuMemory, BuffersThatTogetherExceedTheMemoryAreRefused) {
  const auto pool = std::make_shared<cpu::MemoryPool>();
  const auto bytes = static_cast<size_t>(available_memory_bytes() / 10 * 6);
  const std::unique_ptr<Buffer> first = pool->allocate(bytes, Lifetime::persistent);
  EXPECT_THROW((void)pool->allocate(bytes, Lifetime::persistent), Error);
  EXPECT_THROW((void)pool->allocate(bytes, Lifetime::transient), Error);
}

}  // namespace
}  // namespace wick
