#include "wick/server/batch/local_handlers.h"

#include <utility>

#include "wick/server/completions_api.h"
#include "wick/server/embeddings_api.h"
#include "wick/server/openai_chat_api.h"
#include "wick/server/responses_api.h"

namespace wick::server {
namespace {

WorkerOptions local_options(std::function<void(std::function<void()>)> post) {
  WorkerOptions options;
  options.post = std::move(post);
  return options;
}

}  // namespace

LocalHandlers::LocalHandlers(std::shared_ptr<Service> service)
    : service_(std::move(service)),
      access_({}),
      router_(access_, BrowserAccess({})),
      worker_(local_options([this](std::function<void()> work) { post(std::move(work)); })) {
  add_completion_routes(router_, worker_);
  add_openai_chat_routes(router_, worker_);
  add_responses_routes(router_, worker_);
  add_openai_embedding_routes(router_, worker_);
  add_llama_embedding_routes(router_, worker_);
  thread_ = std::thread([this] { run(); });
  service_->engine->start();
  worker_.ready(service_);
}

LocalHandlers::~LocalHandlers() {
  service_->engine->stop();
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
  }
  has_work_.notify_one();
  thread_.join();
}

void LocalHandlers::post(std::function<void()> work) {
  {
    const std::scoped_lock lock(mutex_);
    work_.push_back(std::move(work));
  }
  has_work_.notify_one();
}

void LocalHandlers::run() {
  for (;;) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      has_work_.wait(lock, [this] { return ends_ || !work_.empty(); });
      if (work_.empty()) return;
      work = std::move(work_.front());
      work_.pop_front();
    }
    work();
  }
}

}  // namespace wick::server
