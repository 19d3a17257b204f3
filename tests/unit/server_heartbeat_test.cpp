// Heartbeats to queens that answer, that do not, and that answer late.
#include "wick/server/heartbeat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "wick/server/http_server.h"

namespace wick::server {
namespace {

using namespace std::chrono_literals;
using testing::MatchesRegex;

// A server that counts its requests and answers the n-th with status_of(n).
class Queen {
 public:
  explicit Queen(std::function<int(int)> status_of)
      : server_(
            {},
            [this, answer = std::move(status_of)](HttpRequest request, const Exchange& exchange) {
              const std::scoped_lock lock(mutex_);
              bodies_.push_back(Json::parse(request.body));
              exchange->respond({.status = answer(static_cast<int>(bodies_.size())), .headers = {}, .body = ""});
            },
            [](int status, const std::string& message, const HttpRequest&) {
              return HttpResponse{.status = status, .headers = {}, .body = message};
            }) {}

  [[nodiscard]] HttpUrl url() const { return {.host = "127.0.0.1", .port = std::to_string(server_.port()), .path = ""}; }
  [[nodiscard]] std::vector<Json> bodies() const {
    const std::scoped_lock lock(mutex_);
    return bodies_;
  }
  void wait_for(size_t count) const {
    const auto end = std::chrono::steady_clock::now() + 60s;
    while (bodies().size() < count && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(5ms);
    EXPECT_GE(bodies().size(), count);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Json> bodies_;
  HttpServer server_;
};

int good(int) { return 200; }

Json worker() { return {{"id", "w"}, {"status", "ready"}}; }

TEST(Heartbeat, TellsTheWorkerAndTheTimeAsIso8601) {
  const Queen queen(good);
  Heartbeat heartbeat({.targets = {queen.url()}}, worker, [](const std::string&) {});
  queen.wait_for(1);
  heartbeat.finish("stopped");
  const std::vector<Json> bodies = queen.bodies();
  ASSERT_EQ(bodies.size(), 2U);
  EXPECT_EQ(bodies[0]["worker"], worker());
  EXPECT_EQ(bodies[1]["worker"]["status"], "stopped");
  for (const Json& body : bodies) {
    EXPECT_THAT(body["timestamp"].get<std::string>(), MatchesRegex("20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9:]+\\.[0-9][0-9][0-9]Z"));
  }
}

TEST(Heartbeat, OneThatRefusesIsToldMoreSeldomAndTheOtherIsNot) {
  const Queen queen(good);
  const Queen hive([](int) { return 500; });
  std::atomic<int> lines{0};
  Heartbeat heartbeat({.targets = {hive.url(), queen.url()}, .interval = 50ms}, worker, [&](const std::string&) { ++lines; });
  queen.wait_for(40);
  heartbeat.finish("");
  // After 1, 2, 4, 8, 8 … intervals.
  EXPECT_LT(hive.bodies().size(), 20U);
  EXPECT_GE(hive.bodies().size(), 2U);
  EXPECT_EQ(lines, 1);
}

TEST(Heartbeat, CallsBackUntilItIsAnswered) {
  const Queen hive([](int count) { return count < 3 ? 503 : 200; });
  std::mutex mutex;
  std::vector<std::string> lines;
  Heartbeat heartbeat({.ready_callback = hive.url(), .callback_interval = 10ms}, worker, [&](const std::string& line) {
    const std::scoped_lock lock(mutex);
    lines.push_back(line);
  });
  hive.wait_for(3);
  ASSERT_EQ(hive.bodies().size(), 3U);
  heartbeat.beat();
  heartbeat.finish("stopped");
  EXPECT_EQ(hive.bodies().size(), 3U);
  EXPECT_EQ(hive.bodies().back(), worker());
  const std::string url = "http://127.0.0.1:" + hive.url().port;
  EXPECT_EQ(lines, (std::vector<std::string>{"--callback-url: " + url + ": answered 503; trying on",
                                             "--callback-url: " + url + " can be reached again"}));
}

TEST(Heartbeat, ACallbackWaitsForTheModel) {
  const Queen hive(good);
  std::atomic<bool> is_ready{false};
  Heartbeat heartbeat(
      {.ready_callback = hive.url()}, [&] { return Json{{"status", is_ready ? "ready" : "starting"}}; }, [](const std::string&) {});
  heartbeat.beat();
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(hive.bodies().size(), 0U);
  is_ready = true;
  heartbeat.beat();
  hive.wait_for(1);
}

}  // namespace
}  // namespace wick::server
