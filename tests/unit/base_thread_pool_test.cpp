#include <gtest/gtest.h>
#include <sys/resource.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/process.h"
#include "wick/base/thread_pool.h"

namespace wick {
namespace {

TEST(ThreadPool, RunsEachShareOnce) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> calls(4);
  for (int round = 0; round < 1000; ++round) {
    pool.run([&](int index, int count) {
      EXPECT_EQ(count, 4);
      calls[static_cast<size_t>(index)].fetch_add(1);
    });
  }
  for (const auto& called : calls) EXPECT_EQ(called.load(), 1000);
}

TEST(ThreadPool, AwakesAfterItsThreadsParked) {
  ThreadPool pool(3);
  std::atomic<int> calls = 0;
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pool.run([&](int, int) { calls.fetch_add(1); });
  }
  EXPECT_EQ(calls.load(), 15);
}

TEST(ThreadPool, ParallelForCoversEachIndexOnceInRangesOfWholeGrains) {
  ThreadPool pool(3);
  for (const int64_t count : {0, 1, 7, 8, 9, 63, 64, 65, 1000}) {
    std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
    pool.parallel_for(count, 8, [&](int64_t begin, int64_t end) {
      EXPECT_EQ(begin % 8, 0);
      EXPECT_TRUE(end % 8 == 0 || end == count) << end;
      for (int64_t i = begin; i < end; ++i) visits[static_cast<size_t>(i)].fetch_add(1);
    });
    for (const auto& visited : visits) EXPECT_EQ(visited.load(), 1);
  }
}

TEST(ThreadPool, ShareOutCoversEachIndexOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (const int64_t count : {0, 1, 2, 7, 64, 1000}) {
      std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
      pool.share_out(count, [&](int /*share*/, int64_t begin, int64_t end) {
        EXPECT_LT(begin, end);
        for (int64_t i = begin; i < end; ++i) visits[static_cast<size_t>(i)].fetch_add(1);
      });
      for (const auto& visited : visits) EXPECT_EQ(visited.load(), 1);
    }
  }
}

TEST(ThreadPool, ShareOutGivesEachThreadTheSamePartInEachCall) {
  ThreadPool pool(3);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> arrived = 0;
    std::vector<int64_t> begins(3, -1), ends(3, -1);
    pool.share_out(90, [&](int share, int64_t begin, int64_t end) {
      const auto index = static_cast<size_t>(share);
      if (begins[index] < 0) {  // nobody steals before all have come
        begins[index] = ends[index] = begin;
        arrived.fetch_add(1);
        while (arrived.load() < 3) std::this_thread::yield();
      }
      if (begin == ends[index]) ends[index] = end;  // else it is stolen
    });
    for (size_t share = 0; share < 3; ++share) {
      EXPECT_EQ(begins[share], static_cast<int64_t>(30 * share));
      EXPECT_GT(ends[share], begins[share]);
    }
  }
}

TEST(ThreadPool, ShareOutGivesASlowThreadLess) {
  ThreadPool pool(2);
  std::atomic<int> others = 0;
  // One range is held until all others are done, which a fixed halving would never see.
  pool.share_out(64, [&](int /*share*/, int64_t begin, int64_t end) {
    const auto length = static_cast<int>(end - begin);
    if (begin > 0) {
      others.fetch_add(length);
      return;
    }
    while (others.load() < 64 - length) std::this_thread::yield();
  });
  EXPECT_GT(others.load(), 32);
}

TEST(ThreadPool, WhatAFailureLeftOfAShareOutIsNotTheNextOnes) {
  ThreadPool pool(2);
  EXPECT_THROW(pool.share_out(64, [](int, int64_t, int64_t) { fail(ErrorCode::out_of_memory, "no memory"); }), Error);
  pool.share_out(0, [](int, int64_t begin, int64_t end) { ADD_FAILURE() << begin << " to " << end; });
  std::atomic<int64_t> sum = 0;
  pool.share_out(3, [&](int, int64_t begin, int64_t end) { sum.fetch_add(end - begin); });
  EXPECT_EQ(sum.load(), 3);
}

TEST(ThreadPool, CallersFromSeveralThreadsTakeTurns) {
  ThreadPool pool(2);
  int64_t sum = 0;  // unguarded: only the pool's turns keep its writers apart
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        pool.run([&](int index, int) {
          if (index == 0) ++sum;
        });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 800);
}

TEST(ThreadPool, AnExceptionOnAnyThreadReachesTheCallerOnceAllHaveReturned) {
  ThreadPool pool(3);
  for (int thrower = 0; thrower < 3; ++thrower) {
    std::atomic<int> others = 0;
    const auto task = [&](int index, int) {
      if (index == thrower) fail(ErrorCode::out_of_memory, "no memory on thread {}", index);
      others.fetch_add(1);
    };
    EXPECT_THROW(pool.run(task), Error);
    EXPECT_EQ(others.load(), 2);
  }
  std::atomic<int> calls = 0;
  pool.run([&](int, int) { calls.fetch_add(1); });
  EXPECT_EQ(calls.load(), 3);
}

TEST(ThreadPool, MoreThreadsThanCoresFinishManyForkJoins) {
  ThreadPool pool(static_cast<int>(std::thread::hardware_concurrency()) * 4 + 1);
  std::atomic<int64_t> calls = 0;
  for (int round = 0; round < 200; ++round) pool.run([&](int, int) { calls.fetch_add(1); });
  EXPECT_EQ(calls.load(), int64_t{200} * pool.size());
}

// Workers that have not begun, that spin and that are parked all leave.
TEST(ThreadPool, CanBeDestroyedAtAnyMoment) {
  std::atomic<int> calls = 0;
  for (int round = 0; round < 60; ++round) {
    ThreadPool pool(3);
    if (round % 3 > 0) pool.run([&](int, int) { calls.fetch_add(1); });
    if (round % 3 > 1) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(calls.load(), 40 * 3);
}

TEST(ThreadPool, RefusesZeroThreads) {
  try {
    const ThreadPool pool(0);
    FAIL() << "a pool of 0 threads was made";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  }
}

// Processor time of all threads of this process, in seconds.
double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

TEST(ThreadPool, MoreThreadsThanCoresDoNotSpin) {
  ThreadPool pool(usable_cores() + 3);
  std::atomic<int> calls = 0;
  for (int round = 0; round < 200; ++round) pool.run([&](int, int) { calls.fetch_add(1); });
  EXPECT_EQ(calls.load(), 200 * (usable_cores() + 3));
  // One share sleeps, and neither the caller nor the other threads burn time meanwhile.
  const double before = processor_seconds();
  pool.run([](int share, int) {
    if (share == 1) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  });
  EXPECT_LT(processor_seconds() - before, 0.1);
}

TEST(ThreadPool, HundredsOfThreadsRunEachShareOnceInLittleTime) {
  ThreadPool pool(usable_cores() + 300);
  std::vector<std::atomic<int>> calls(static_cast<size_t>(pool.size()));
  const auto start = std::chrono::steady_clock::now();
  for (int round = 0; round < 500; ++round) pool.run([&](int share, int) { calls[static_cast<size_t>(share)].fetch_add(1); });
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 5.0);
  for (const auto& called : calls) EXPECT_EQ(called.load(), 500);
}

TEST(ThreadPool, ThreadsThatTheSystemDoesNotStartAreAnError) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer needs more address space than any limit leaves";
#endif
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &old), 0);
  // Each thread's stack is address space; a pool that gets half of its threads must end them again.
  const rlimit tight{size_t{2} << 30, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &tight), 0);
  std::string message;
  try {
    const ThreadPool pool(1024);
  } catch (const Error& error) {
    message = error.what();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &old), 0);
  EXPECT_NE(message.find("use fewer threads"), std::string::npos) << message;
}

}  // namespace
}  // namespace wick
