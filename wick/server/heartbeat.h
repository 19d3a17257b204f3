// A Heartbeat tells the fleet's queen and hive that this worker lives: what it is and does, every half minute, on a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "wick/server/http_client.h"
#include "wick/server/json.h"

namespace wick::server {

struct HeartbeatOptions {
  std::vector<HttpUrl> targets = {};                   // POST {url}/v1/worker-heartbeat
  std::optional<HttpUrl> ready_callback = {};          // POST once, when the model is loaded
  std::chrono::milliseconds interval{30'000};          // between two beats
  std::chrono::milliseconds callback_interval{1'000};  // until the callback answers
  std::chrono::milliseconds limit{5'000};              // of one request
  std::chrono::milliseconds last_limit{1'000};         // of one request while the worker stops
};

class Heartbeat {
 public:
  // `info`: the worker as it is (Worker::info). `log` gets a line when one of them cannot be reached, and when it can again.
  Heartbeat(HeartbeatOptions options, std::function<Json()> info, std::function<void(const std::string&)> log);
  // Ends at once; no further beat is sent.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // Sends a beat now, as the state has changed.
  void beat();
  // Tells each target of this state as the last one, and waits for that, but not for long.
  void finish(const std::string& status);

 private:
  using Clock = std::chrono::steady_clock;

  // A receiver of heartbeats. Each has a backoff of its own, so that one that does not answer delays no other.
  struct Target {
    std::string what;  // "heartbeat", for the log
    HttpUrl url;
    std::string path;
    std::chrono::milliseconds interval;
    int failures = 0;  // since it answered
    Clock::time_point due = {};
  };

  void run();
  // Tells all targets, or those whose time has come, of the worker; `status`, if any, stands in place of its own. What is newer ends it.
  void send(bool to_all, const std::string& status);
  [[nodiscard]] bool has_news();
  void call_back();
  void post(Target& target, const Json& body, std::chrono::milliseconds limit);
  [[nodiscard]] Clock::time_point next_due() const;

  HeartbeatOptions options_;
  std::function<Json()> info_;
  std::function<void(const std::string&)> log_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool wanted_ = true, ends_ = false;
  std::string last_status_;
  std::shared_ptr<TlsClient> tls_;  // where a target has it
  // The thread's.
  std::vector<Target> targets_;
  std::optional<Target> ready_callback_;  // until it has been called
  std::thread thread_;
};

}  // namespace wick::server
