#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "wick/base/process.h"

namespace wick {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

TEST(Process, PeakMemoryGrowsByWhatIsTouched) {
  const uint64_t before = peak_resident_bytes();
  ASSERT_GT(before, 0U);
  std::vector<char> touched(64 * kMebibyte);
  std::memset(touched.data(), 1, touched.size());
  EXPECT_GE(peak_resident_bytes(), before + 32 * kMebibyte);
  EXPECT_LE(peak_resident_bytes(), physical_memory_bytes());
}

TEST(Process, TimeSinceStartAdvancesWithTheClock) {
  const double start = seconds_since_process_start();
  ASSERT_GE(start, 0.0);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  const double passed = seconds_since_process_start() - start;
  EXPECT_GE(passed, 0.025);
  EXPECT_LT(passed, 20.0);
}

TEST(Process, CoresAreAtLeastOneAndNoMoreThanTheMachineHas) {
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), static_cast<int>(std::thread::hardware_concurrency()));
}

TEST(Process, MappedPagesAreZeroAndWritable) {
  auto* pages = static_cast<unsigned char*>(map_zeroed_pages(kMebibyte));
  ASSERT_NE(pages, nullptr);
  EXPECT_EQ(pages[kMebibyte - 1], 0);
  pages[kMebibyte - 1] = 7;
  EXPECT_EQ(pages[kMebibyte - 1], 7);
  unmap_pages(pages, kMebibyte);
}

// The handler runs behind the destructors of what was made after it: threads that prepare weights may ask as late.
TEST(ProcessDeathTest, MemoryIsToldUntilTheProcessHasEnded) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto ask_late = [] {
    std::atexit([] {
      if (available_memory_bytes() == 0) std::_Exit(1);
    });
    (void)available_memory_bytes();
    std::exit(0);
  };
  EXPECT_EXIT(ask_late(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace wick
