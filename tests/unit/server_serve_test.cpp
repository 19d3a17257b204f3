// The worker as a process: signals that come while the model loads.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <thread>

#include "wick/server/serve.h"

namespace wick::server {
namespace {

using namespace std::chrono_literals;

const auto print = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };

// Serves with a load that gets a signal, and ends as serve() says.
[[noreturn]] void end_while_loading(const std::function<void(const Progress&)>& rest_of_load) {
  std::exit(serve(
      {},
      [&](const Progress& progress) -> std::shared_ptr<Service> {
        std::raise(SIGTERM);
        rest_of_load(progress);
        return nullptr;
      },
      print));
}

class ServeDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(ServeDeathTest, ASignalEndsALoadAtItsNextStep) {
  const auto steps = [](const Progress& progress) {
    for (;;) {
      progress({.bytes = 1, .total_bytes = 2});
      std::this_thread::sleep_for(1ms);
    }
  };
  EXPECT_EXIT(end_while_loading(steps), testing::ExitedWithCode(0), "stopped exit_code=0");
}

TEST_F(ServeDeathTest, ASignalDoesNotWaitForALoadThatStands) {
  EXPECT_EXIT(end_while_loading([](const Progress&) { std::this_thread::sleep_for(1h); }), testing::ExitedWithCode(0),
              "stopped exit_code=0");
}

TEST_F(ServeDeathTest, AModelThatIsLoadedBehindASignalIsNotServed) {
  const auto to_the_end = [](const Progress& progress) {
    for (bool has_come = false; !has_come; std::this_thread::sleep_for(1ms)) {
      try {
        progress({});
      } catch (...) {
        has_come = true;
      }
    }
  };
  EXPECT_EXIT(end_while_loading(to_the_end), testing::ExitedWithCode(0), "stopped exit_code=0");
}

}  // namespace
}  // namespace wick::server
