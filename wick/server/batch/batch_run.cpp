#include "wick/server/batch/batch_run.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/server/http_exchange.h"
#include "wick/server/request_id.h"

namespace wick::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook{100};   // between two calls of go_on, at most
constexpr std::chrono::milliseconds kPause{200};  // before a request is tried again that the queue had no room for
constexpr std::chrono::seconds kMaxBusyTime{60};  // in which none of the batch is under way and the queue takes none

// The responses that have come and are not written yet. Handlers add them from any thread, also when the batch has ended.
class Responses {
 public:
  struct Entry {
    size_t index = 0;
    HttpResponse response = {};
  };

  void add(size_t index, HttpResponse response) {
    {
      const std::scoped_lock lock(mutex_);
      entries_.push_back({index, std::move(response)});
    }
    has_come_.notify_one();
  }

  // Those that have come; waits a while for one.
  [[nodiscard]] std::deque<Entry> take() {
    std::unique_lock lock(mutex_);
    has_come_.wait_for(lock, kLook, [this] { return !entries_.empty(); });
    return std::exchange(entries_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable has_come_;
  std::deque<Entry> entries_;
};

// Gives the response of a handler to Responses, whether it comes whole or in pieces.
class BatchExchange final : public HttpExchange {
 public:
  BatchExchange(size_t index, std::shared_ptr<Responses> responses) : index_(index), responses_(std::move(responses)) {}

  void add_header(std::string, std::string) override {}
  void respond(HttpResponse response) override {
    {
      const std::scoped_lock lock(mutex_);
      if (has_begun_) return;
      has_begun_ = true;
    }
    responses_->add(index_, std::move(response));
  }
  void begin(int status, HeaderFields headers, std::string) override {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(has_begun_, true)) return;
    streamed_ = {.status = status, .headers = std::move(headers), .body = {}};
  }
  bool write(std::string piece) override {
    const std::scoped_lock lock(mutex_);
    streamed_.body += piece;
    return !is_gone_;
  }
  void end() override { responses_->add(index_, std::move(streamed_)); }

  [[nodiscard]] bool is_gone() const override {
    const std::scoped_lock lock(mutex_);
    return is_gone_;
  }
  void on_gone(std::function<void()> callback) override {
    {
      const std::scoped_lock lock(mutex_);
      if (!is_gone_) {
        on_gone_ = std::move(callback);
        return;
      }
    }
    callback();
  }
  void cancel() {
    std::function<void()> callback;
    {
      const std::scoped_lock lock(mutex_);
      is_gone_ = true;
      callback = std::exchange(on_gone_, {});
    }
    if (callback) callback();
  }

 private:
  const size_t index_;
  const std::shared_ptr<Responses> responses_;
  mutable std::mutex mutex_;
  bool has_begun_ = false, is_gone_ = false;
  HttpResponse streamed_;
  std::function<void()> on_gone_;
};

class BatchRun {
 public:
  BatchRun(const Router& router, const BatchInput& input, BatchResults& results, const BatchRunOptions& options)
      : router_(router), input_(input), results_(results), options_(options) {
    for (const size_t index : input.in_order_of_prompts()) {
      if (!results.has(index)) waiting_.push_back(index);
    }
  }
  BatchRun(const BatchRun&) = delete;
  BatchRun& operator=(const BatchRun&) = delete;
  ~BatchRun() {
    for (const auto& [index, request] : under_way_) request.exchange->cancel();
  }

  bool run(const std::function<bool()>& go_on) {
    while (!waiting_.empty() || !under_way_.empty()) {
      if (!go_on()) return false;
      while (!waiting_.empty() && std::ssize(under_way_) < options_.at_once && Clock::now() >= paused_until_) start_next();
      for (Responses::Entry& entry : responses_->take()) finish(entry.index, std::move(entry.response));
    }
    static_cast<void>(go_on());
    return true;
  }

 private:
  struct UnderWay {
    std::shared_ptr<BatchExchange> exchange;
    std::string request_id;
  };

  void start_next() {
    const size_t index = waiting_.front();
    waiting_.pop_front();
    Json body = input_.body(index);
    if (options_.priority != 0 && !body.contains("priority")) body["priority"] = options_.priority;
    HttpRequest request{.method = "POST",
                        .target = std::string(input_.url(index)),
                        .path = std::string(input_.url(index)),
                        .body = to_text(body),
                        .request_id = random_uuid(),
                        .client = options_.client};
    request.parsed = std::make_shared<const Json>(std::move(body));
    const auto exchange = std::make_shared<BatchExchange>(index, responses_);
    under_way_.emplace(index, UnderWay{exchange, request.request_id});
    router_.forward(request, exchange);
  }

  void finish(size_t index, HttpResponse response) {
    const std::string request_id = std::move(under_way_.extract(index).mapped().request_id);
    if (response.status == 503 && !options_.is_shared) {
      fail(ErrorCode::device_lost, "custom_id {}: the model can answer no more: {}", to_text(input_.custom_id(index)), response.body);
    }
    if ((response.status == 429 || response.status == 503) && may_wait(response.status)) {
      waiting_.push_front(index);
      paused_until_ = Clock::now() + kPause;
      return;
    }
    busy_since_ = {};
    results_.add(index, response.status, request_id, response.body);
  }

  // A queue that has room when some request of the batch has ended has room for the one that was refused, too, unless it needs more than
  // there ever is.
  [[nodiscard]] bool may_wait(int status) {
    if (status == 503 || !under_way_.empty()) return true;
    if (!options_.is_shared) return false;
    const Clock::time_point now = Clock::now();
    if (busy_since_ == Clock::time_point()) busy_since_ = now;
    return now - busy_since_ < kMaxBusyTime;
  }

  const Router& router_;
  const BatchInput& input_;
  BatchResults& results_;
  const BatchRunOptions& options_;
  const std::shared_ptr<Responses> responses_ = std::make_shared<Responses>();
  std::deque<size_t> waiting_;
  std::map<size_t, UnderWay> under_way_;  // by index
  Clock::time_point paused_until_ = {}, busy_since_ = {};
};

}  // namespace

bool run_batch(const Router& router, const BatchInput& input, BatchResults& results, const BatchRunOptions& options,
               const std::function<bool()>& go_on) {
  return BatchRun(router, input, results, options).run(go_on);
}

}  // namespace wick::server
