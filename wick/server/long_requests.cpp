#include "wick/server/long_requests.h"

#include <utility>

namespace wick::server {

LongRequests::LongRequests(std::function<void(HttpRequest, Exchange)> handle) : handle_(std::move(handle)), thread_([this] { run(); }) {}

void LongRequests::stop() {
  std::deque<Waiting> dropped;
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
    dropped.swap(waiting_);
  }
  dropped.clear();
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LongRequests::add(HttpRequest request, Exchange exchange) {
  {
    const std::scoped_lock lock(mutex_);
    if (ends_) return;
    waiting_.push_back({std::move(request), std::move(exchange)});
  }
  changed_.notify_all();
}

void LongRequests::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
    if (ends_) return;
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    if (!next.exchange->is_gone()) handle_(std::move(next.request), std::move(next.exchange));
    next = {};
    lock.lock();
  }
}

}  // namespace wick::server
