// A Heartbeat tells the fleet's queen or hive that this worker lives: what it is and does, every half minute, on a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "wick/server/http_client.h"
#include "wick/server/json.h"

namespace wick::server {

struct HeartbeatOptions {
  std::vector<HttpUrl> targets = {};           // POST {url}/v1/worker-heartbeat
  std::optional<HttpUrl> ready_callback = {};  // POST once, when the model is loaded
  std::chrono::milliseconds interval{30'000};
  std::chrono::milliseconds limit{5'000};  // of one request
};

class Heartbeat {
 public:
  // `info`: the worker as it is (Worker::info). `log` gets a line when a target cannot be reached, and when it can again.
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
  void run();
  void send(const std::string& status);
  void call_back();

  HeartbeatOptions options_;
  std::function<Json()> info_;
  std::function<void(const std::string&)> log_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool wanted_ = true, ends_ = false, called_back_ = false;
  std::string last_status_;
  std::vector<bool> unreachable_;
  std::thread thread_;
};

}  // namespace wick::server
