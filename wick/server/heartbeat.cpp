#include "wick/server/heartbeat.h"

#include <algorithm>
#include <random>
#include <utility>

#include "wick/base/fail.h"

namespace wick::server {
namespace {

std::string timestamp() {
  const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  return std::to_string(now.time_since_epoch().count());
}

}  // namespace

Heartbeat::Heartbeat(HeartbeatOptions options, std::function<Json()> info, std::function<void(const std::string&)> log)
    : options_(std::move(options)), info_(std::move(info)), log_(std::move(log)), unreachable_(options_.targets.size()) {
  if (!options_.targets.empty() || options_.ready_callback) thread_ = std::thread([this] { run(); });
}

Heartbeat::~Heartbeat() {
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Heartbeat::beat() {
  {
    const std::scoped_lock lock(mutex_);
    wanted_ = true;
  }
  changed_.notify_all();
}

void Heartbeat::finish(const std::string& status) {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
    last_status_ = status;
  }
  changed_.notify_all();
  thread_.join();
}

void Heartbeat::run() {
  std::minstd_rand random(std::random_device{}());
  int failures = 0;
  std::unique_lock lock(mutex_);
  while (!ends_) {
    wanted_ = false;
    lock.unlock();
    send("");
    call_back();
    lock.lock();
    const bool some_fail = std::ranges::find(unreachable_, true) != unreachable_.end();
    failures = some_fail ? std::min(failures + 1, 4) : 0;
    // Exponential backoff, with a jitter of a tenth so that workers do not beat together.
    const auto wait = options_.interval * (1 << failures) / (some_fail ? 2 : 1);
    const double jitter = 0.9 + 0.2 * static_cast<double>(random()) / static_cast<double>(std::minstd_rand::max());
    changed_.wait_for(lock, std::chrono::duration<double, std::milli>(static_cast<double>(wait.count()) * jitter),
                      [this] { return wanted_ || ends_; });
  }
  const bool is_due = wanted_;
  lock.unlock();
  if (last_status_.empty()) return;
  if (is_due) send("");
  send(last_status_);
}

void Heartbeat::send(const std::string& status) {
  Json worker = info_();
  if (!status.empty()) worker["status"] = status;
  const std::string body = to_text({{"worker", std::move(worker)}, {"timestamp", timestamp()}});
  for (size_t i = 0; i < options_.targets.size(); ++i) {
    const HttpUrl& target = options_.targets[i];
    std::string problem;
    try {
      const int answer = post_json(target, "/v1/worker-heartbeat", body, status.empty() ? options_.limit : std::chrono::milliseconds(1000));
      if (answer >= 400) problem = fmt::format("http://{}:{}: answered {}", target.host, target.port, answer);
    } catch (const Error& error) {
      problem = error.what();
    }
    if (!problem.empty() != unreachable_[i]) {
      log_(problem.empty() ? fmt::format("heartbeat: http://{}:{} can be reached again", target.host, target.port)
                           : fmt::format("heartbeat: {}; trying on", problem));
    }
    unreachable_[i] = !problem.empty();
  }
}

void Heartbeat::call_back() {
  if (!options_.ready_callback || called_back_) return;
  const Json worker = info_();
  const std::string status = worker.value("status", "");
  if (status != "ready" && status != "busy") return;
  try {
    called_back_ = post_json(*options_.ready_callback, "", to_text(worker), options_.limit) < 400;
  } catch (const Error& error) {
    log_(fmt::format("--callback-url: {}; trying again", error.what()));
  }
}

}  // namespace wick::server
