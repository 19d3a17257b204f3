// LocalHandlers answer requests to a loaded model with the server's code, without a server: no network, in this process.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "wick/server/access.h"
#include "wick/server/router.h"
#include "wick/server/worker.h"

namespace wick::server {

class LocalHandlers {
 public:
  // Starts the service's engine.
  explicit LocalHandlers(std::shared_ptr<Service> service);
  LocalHandlers(const LocalHandlers&) = delete;
  LocalHandlers& operator=(const LocalHandlers&) = delete;
  // Cancels what is under way.
  ~LocalHandlers();

  // Routes of OpenAI's completions, chat completions, responses and embeddings, and of rerank.
  [[nodiscard]] const Router& router() const noexcept { return router_; }
  [[nodiscard]] const Engine& engine() const noexcept { return *service_->engine; }

 private:
  void post(std::function<void()> work);
  void run();

  std::shared_ptr<Service> service_;
  std::mutex mutex_;
  std::condition_variable has_work_;
  std::deque<std::function<void()>> work_;
  bool ends_ = false;
  Access access_;
  Router router_;
  Worker worker_;
  std::thread thread_;  // writes responses
};

}  // namespace wick::server
