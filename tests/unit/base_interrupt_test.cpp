#include "wick/base/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace wick {
namespace {

TEST(InterruptGuard, TheFirstIsRememberedUntilItIsCleared) {
  InterruptGuard guard;
  EXPECT_FALSE(guard.requested());
  ::raise(SIGINT);
  EXPECT_TRUE(guard.requested());
  guard.clear();
  EXPECT_FALSE(guard.requested());
  ::raise(SIGINT);
  EXPECT_TRUE(guard.requested());
}

TEST(InterruptGuard, TheSecondEndsTheProcessAsOneDoesWithoutAGuard) {
  const auto twice = [] {
    const InterruptGuard guard;
    ::raise(SIGINT);
    ::raise(SIGINT);
  };
  EXPECT_EXIT(twice(), testing::KilledBySignal(SIGINT), "");
  const auto afterwards = [] {
    { const InterruptGuard guard; }
    ::raise(SIGINT);
  };
  EXPECT_EXIT(afterwards(), testing::KilledBySignal(SIGINT), "");
}

TEST(InterruptGuard, AnIgnoredSignalStaysIgnored) {
  const auto before = ::signal(SIGINT, SIG_IGN);
  {
    const InterruptGuard guard;
    ::raise(SIGINT);
    ::raise(SIGINT);
    EXPECT_FALSE(guard.requested());
  }
  ::signal(SIGINT, before);
}

TEST(InterruptGuard, WaitingForInputEndsWithTheInputOrTheSignal) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  InterruptGuard guard;
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  EXPECT_TRUE(guard.wait_for_input(ends[0]));
  char byte = 0;
  EXPECT_EQ(guard.read_byte(ends[0], byte), 1);
  EXPECT_EQ(byte, 'x');
  const pthread_t waiting = ::pthread_self();
  std::thread interrupter([waiting] {
    ::usleep(50'000);
    ::pthread_kill(waiting, SIGINT);
  });
  EXPECT_FALSE(guard.wait_for_input(ends[0]));
  interrupter.join();
  EXPECT_TRUE(guard.requested());
  EXPECT_EQ(guard.read_byte(ends[0], byte), -1);
  guard.clear();
  ::close(ends[1]);
  EXPECT_TRUE(guard.wait_for_input(ends[0]));  // the end of the input
  EXPECT_EQ(guard.read_byte(ends[0], byte), 0);
  ::close(ends[0]);
}

TEST(InterruptGuard, WaitingForInputEndsWhereAnotherThreadTakesTheSignal) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const InterruptGuard guard;
  std::thread interrupter([&ends] {
    ::usleep(50'000);
    ::pthread_kill(::pthread_self(), SIGINT);
    // A wait that goes on ends with this.
    ::usleep(1'000'000);
    (void)!::write(ends[1], "x", 1);
  });
  EXPECT_FALSE(guard.wait_for_input(ends[0]));
  EXPECT_FALSE(guard.has_input(ends[0]));
  EXPECT_TRUE(guard.requested());
  interrupter.join();
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace wick
