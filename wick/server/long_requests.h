// LongRequests handles requests with large bodies one after another on a thread of their own: who sends much to read waits for others who
// do, and the server's threads are there for everybody else.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "wick/server/http_exchange.h"
#include "wick/server/http_message.h"

namespace wick::server {

// Reading and encoding as much takes about 10 ms.
constexpr size_t kLongBody = size_t{256} << 10U;

class LongRequests {
 public:
  // `handle` is called on the thread, and throws nothing.
  explicit LongRequests(std::function<void(HttpRequest, Exchange)> handle);
  ~LongRequests() { stop(); }
  LongRequests(const LongRequests&) = delete;
  LongRequests& operator=(const LongRequests&) = delete;

  void add(HttpRequest request, Exchange exchange);
  // Ends behind the request that is being handled; what waits, or comes later, is dropped.
  void stop();

 private:
  struct Waiting {
    HttpRequest request;
    Exchange exchange;
  };
  void run();

  std::function<void(HttpRequest, Exchange)> handle_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace wick::server
