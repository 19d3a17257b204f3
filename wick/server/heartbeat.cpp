#include "wick/server/heartbeat.h"

#include <algorithm>
#include <random>
#include <utility>

#include "wick/base/fail.h"
#include "wick/server/utc_time.h"

namespace wick::server {
namespace {

// Twice as long after each failure, but no more than this often twice.
constexpr int kMaxDoublings = 3;

// With a jitter of a tenth, so that workers do not beat together.
std::chrono::steady_clock::duration pause_after(std::chrono::milliseconds interval, int failures) {
  thread_local std::minstd_rand random(std::random_device{}());
  const double jitter = std::uniform_real_distribution(0.9, 1.1)(random);
  const std::chrono::duration<double, std::milli> time(static_cast<double>(interval.count()) * jitter);
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(time * (1 << std::clamp(failures - 1, 0, kMaxDoublings)));
}

}  // namespace

Heartbeat::Heartbeat(HeartbeatOptions options, std::function<Json()> info, std::function<void(const std::string&)> log)
    : options_(std::move(options)), info_(std::move(info)), log_(std::move(log)) {
  for (const HttpUrl& url : options_.targets) {
    targets_.push_back({.what = "heartbeat", .url = url, .path = "/v1/worker-heartbeat", .interval = options_.interval});
  }
  if (options_.ready_callback)
    ready_callback_ = Target{.what = "--callback-url", .url = *options_.ready_callback, .path = "", .interval = options_.callback_interval};
  const auto is_secure = [](const Target& target) { return target.url.is_secure; };
  if (std::ranges::any_of(targets_, is_secure) || (ready_callback_ && is_secure(*ready_callback_))) tls_ = make_tls_client("");
  if (!targets_.empty() || ready_callback_) thread_ = std::thread([this] { run(); });
}

Heartbeat::~Heartbeat() { finish(""); }

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
  std::unique_lock lock(mutex_);
  while (!ends_) {
    const bool to_all = std::exchange(wanted_, false);
    lock.unlock();
    send(to_all, "");
    if (!has_news()) call_back();
    lock.lock();
    changed_.wait_until(lock, next_due(), [this] { return wanted_ || ends_; });
  }
  const bool is_due = std::exchange(wanted_, false);
  lock.unlock();
  if (last_status_.empty()) return;
  if (is_due) send(true, "");
  send(true, last_status_);
}

void Heartbeat::send(bool to_all, const std::string& status) {
  Json worker = info_();
  if (!status.empty()) worker["status"] = status;
  const std::string now = worker.value("status", "");
  const bool ends = now == "stopping" || now == "stopped";
  const Json body = {{"worker", std::move(worker)}, {"timestamp", utc_time(std::chrono::system_clock::now())}};
  for (Target& target : targets_) {
    if (has_news()) return;
    if (to_all || target.due <= Clock::now()) post(target, body, ends ? options_.last_limit : options_.limit);
  }
}

bool Heartbeat::has_news() {
  const std::scoped_lock lock(mutex_);
  return wanted_;
}

void Heartbeat::call_back() {
  if (!ready_callback_ || ready_callback_->due > Clock::now()) return;
  const Json worker = info_();
  const std::string status = worker.value("status", "");
  if (status != "ready" && status != "busy") return;
  post(*ready_callback_, worker, options_.limit);
  if (ready_callback_->failures == 0) ready_callback_.reset();
}

void Heartbeat::post(Target& target, const Json& body, std::chrono::milliseconds limit) {
  std::string problem;
  try {
    const int answer = post_json(target.url, target.path, to_text(body), {.limit = limit, .tls = tls_.get()});
    if (answer >= 400) problem = fmt::format("{}: answered {}", target.url.origin(), answer);
  } catch (const Error& error) {
    problem = error.what();
  }
  if (!problem.empty() && target.failures == 0) log_(fmt::format("{}: {}; trying on", target.what, problem));
  if (problem.empty() && target.failures > 0) {
    log_(fmt::format("{}: {} can be reached again", target.what, target.url.origin()));
  }
  target.failures = problem.empty() ? 0 : target.failures + 1;
  target.due = Clock::now() + pause_after(target.interval, target.failures);
}

// A callback that waits for the model is called when a beat is wanted, as the model is loaded then.
Heartbeat::Clock::time_point Heartbeat::next_due() const {
  Clock::time_point due = Clock::now() + options_.interval;
  for (const Target& target : targets_) due = std::min(due, target.due);
  if (ready_callback_ && ready_callback_->failures > 0) due = std::min(due, ready_callback_->due);
  return due;
}

}  // namespace wick::server
