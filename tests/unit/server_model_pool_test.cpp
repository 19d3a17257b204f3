#include "wick/server/model_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "unit/engine_samples.h"
#include "wick/base/fail.h"

namespace wick::server {
namespace {

using namespace std::chrono_literals;

class PoolAnswer : public HttpExchange {
 public:
  void add_header(std::string, std::string) override {}
  void respond(HttpResponse given) override {
    const std::scoped_lock lock(mutex_);
    response_ = std::move(given);
  }
  void begin(int, HeaderFields, std::string) override {}
  bool write(std::string) override { return true; }
  void end() override {}
  [[nodiscard]] bool is_gone() const override { return false; }
  void on_gone(std::function<void()>) override {}

  HttpResponse wait() {
    const auto end = std::chrono::steady_clock::now() + 20s;
    for (;;) {
      {
        const std::scoped_lock lock(mutex_);
        if (response_.status != 0) return response_;
      }
      if (std::chrono::steady_clock::now() > end) return {.status = -1};
      std::this_thread::sleep_for(1ms);
    }
  }

 private:
  std::mutex mutex_;
  HttpResponse response_{.status = 0};
};

// A pool of fake models that runs; a model whose `memory` is false has none.
class PoolSample {
 public:
  explicit PoolSample(PoolOptions options) {
    for (PooledModel& model : options.models) {
      model.load = [this, name = model.name](const Progress&) {
        if (name == "huge" || !has_memory) fail(ErrorCode::out_of_memory, "the device has no more memory");
        auto service = std::make_shared<Service>();
        service->engine = std::make_unique<Engine>(sample.model, sample.tokenizer, EngineOptions{});
        service->model_id = name;
        return service;
      };
    }
    WorkerOptions worker;
    worker.post = [](const std::function<void()>& work) { work(); };
    pool.emplace(std::move(options), worker, access, [](Router&, Worker&) {}, [](std::string_view, std::string_view, const Json&) {});
    thread = std::thread([this] { pool->run(); });
  }
  ~PoolSample() {
    pool->stop();
    thread.join();
  }
  PoolSample(const PoolSample&) = delete;
  PoolSample& operator=(const PoolSample&) = delete;

  HttpResponse load(const std::string& name) {
    const auto answer = std::make_shared<PoolAnswer>();
    pool->load(name, answer);
    return answer->wait();
  }
  HttpResponse unload(const std::string& name) {
    const auto answer = std::make_shared<PoolAnswer>();
    pool->unload(name, answer);
    return answer->wait();
  }
  std::string states() {
    std::string all;
    for (const ModelPool::Row& row : pool->rows()) all += std::string(to_string(row.state)) + " ";
    return all;
  }

  EngineSample sample;
  Access access{AccessOptions{}};
  std::atomic<bool> has_memory = true;
  std::optional<ModelPool> pool;
  std::thread thread;
};

TEST(ModelPool, AModelInUseIsNotUnloadedAndWhoWaitsForItsRoomIsTold) {
  PoolSample sample({.models = {{.name = "a"}, {.name = "b"}}, .max_loaded = 1, .patience = 50ms});
  EXPECT_EQ(sample.load("a").status, 200);
  std::shared_ptr<Service> request = sample.pool->worker("a").service();  // as a request under way holds it
  const HttpResponse refused = sample.load("b");
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("there is no room for model b while a answers requests"), std::string::npos) << refused.body;
  EXPECT_NE(refused.body.find("max_loaded"), std::string::npos) << "what to do: " << refused.body;
  EXPECT_EQ(refused.headers.find("Retry-After"), "5");
  EXPECT_EQ(sample.states(), "loaded unloaded ");
  EXPECT_EQ(sample.unload("a").status, 409);
  request.reset();
  EXPECT_EQ(sample.load("b").status, 200);
  EXPECT_EQ(sample.states(), "unloaded loaded ");
}

TEST(ModelPool, AModelThatDoesNotFitIsNamedWithWhatToDo) {
  PoolSample sample({.models = {{.name = "a"}, {.name = "huge"}}, .patience = 50ms});
  EXPECT_EQ(sample.load("a").status, 200);
  const HttpResponse refused = sample.load("huge");
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("model huge: there is no memory for it"), std::string::npos) << refused.body;
  EXPECT_EQ(refused.headers.find("Retry-After"), "5");
  // The other one was unloaded for it, and comes back.
  EXPECT_EQ(sample.states(), "unloaded unloaded ");
  EXPECT_NE(sample.pool->rows()[1].failure.find("no memory"), std::string::npos);
  EXPECT_EQ(sample.load("a").status, 200);
  sample.has_memory = false;
  EXPECT_EQ(sample.unload("a").status, 200);
  EXPECT_EQ(sample.load("a").status, 503);
  sample.has_memory = true;
  EXPECT_EQ(sample.load("a").status, 200) << "a failure is not for ever";
}

TEST(ModelPool, TheModelThatWasUsedLongestAgoGoes) {
  PoolSample sample({.models = {{.name = "a"}, {.name = "b", .aliases = {"other"}}, {.name = "c"}}, .max_loaded = 2, .patience = 50ms});
  for (const char* name : {"a", "b", "a", "c"}) EXPECT_EQ(sample.load(name).status, 200) << name;
  EXPECT_EQ(sample.states(), "loaded unloaded loaded ");
  EXPECT_EQ(sample.load("other:latest").status, 200);
  EXPECT_EQ(sample.states(), "unloaded loaded loaded ");
  EXPECT_THROW((void)sample.load("d"), ApiError);
}

}  // namespace
}  // namespace wick::server
