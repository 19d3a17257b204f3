#include "wick/server/embeddings_api.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <utility>

#include "wick/base/base64.h"
#include "wick/base/fail.h"
#include "wick/server/answer.h"
#include "wick/server/prompts.h"

namespace wick::server {
namespace {

constexpr size_t kMaxInputs = 2048;  // OpenAI's

// As OpenAI sends them: the bytes of f32 numbers, the lowest first.
std::string base64(std::span<const float> numbers) {
  std::string bytes;
  for (const float number : numbers) {
    const auto word = std::bit_cast<uint32_t>(number);
    for (unsigned shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(word >> shift);
  }
  return encode_base64(bytes);
}

// To length 1, as OpenAI's are.
void normalize(std::vector<float>& vector) {
  double sum = 0;
  for (const float number : vector) sum += double{number} * number;
  if (sum <= 0) return;
  const double scale = 1 / std::sqrt(sum);
  for (float& number : vector) number = static_cast<float>(number * scale);
}

// The inputs of one request, of which as many are under way as the engine computes at once: a list may be longer than the queue.
class EmbeddingBatch : public std::enable_shared_from_this<EmbeddingBatch> {
 public:
  EmbeddingBatch(const Worker& worker, std::shared_ptr<Service> service, std::vector<Request> requests, bool as_base64)
      : worker_(worker), service_(std::move(service)), requests_(std::move(requests)), vectors_(requests_.size()), as_base64_(as_base64) {}

  void start(const Exchange& exchange) {
    exchange_ = exchange;
    exchange->on_gone([weak = weak_from_this()] {
      if (const std::shared_ptr<EmbeddingBatch> self = weak.lock()) self->cancel();
    });
    const EngineInfo& info = service_->engine->info();
    const int64_t at_once = std::min<int64_t>({std::ssize(vectors_), info.queue, info.sequences});
    for (int64_t i = 0; i < at_once; ++i) start_next();
  }
  void complete(size_t index, const FinishEvent& event) {
    if (event.reason == StopReason::cancelled)
      return fail(ApiError(503, "CANCELLED", "the server ends").retry_after(std::chrono::seconds(1)));
    {
      const std::scoped_lock lock(mutex_);
      vectors_[index] = event.embedding;
      tokens_ += event.usage.prompt_tokens;
      if (++done_ == vectors_.size() && !failed_) respond();
    }
    start_next();
  }
  void fail(const ApiError& error) {
    exchange_->respond(error.response(Dialect::openai));
    cancel();
  }

 private:
  void start_next();
  // Starts no more, and ends those that are under way.
  void cancel() {
    std::vector<std::weak_ptr<Answer>> live;
    {
      const std::scoped_lock lock(mutex_);
      failed_ = true;
      live.swap(live_);
    }
    for (const std::weak_ptr<Answer>& weak : live) {
      if (const std::shared_ptr<Answer> answer = weak.lock()) answer->cancel();
    }
  }
  void respond() {
    Json list = Json::array();
    for (std::vector<float>& vector : vectors_) {
      normalize(vector);
      Json value;
      if (as_base64_) {
        value = base64(vector);
      } else {
        value = vector;
      }
      list.push_back({{"object", "embedding"}, {"index", list.size()}, {"embedding", std::move(value)}});
    }
    exchange_->respond(json_response(200, to_text({{"object", "list"},
                                                   {"data", std::move(list)},
                                                   {"model", service_->model_id},
                                                   {"usage", {{"prompt_tokens", tokens_}, {"total_tokens", tokens_}}}})));
  }

  const Worker& worker_;
  std::shared_ptr<Service> service_;
  Exchange exchange_;
  std::mutex mutex_;
  std::vector<Request> requests_;
  std::vector<std::vector<float>> vectors_;
  std::vector<std::weak_ptr<Answer>> live_;
  bool as_base64_, failed_ = false;
  size_t next_ = 0, done_ = 0;
  int64_t tokens_ = 0;
};

class EmbeddingWriter final : public AnswerWriter {
 public:
  EmbeddingWriter(std::shared_ptr<EmbeddingBatch> batch, size_t index) : batch_(std::move(batch)), index_(index) {}
  void complete(const std::vector<Choice>& choices, const PromptEvent&) override { batch_->complete(index_, choices.front().finish); }
  void fail(const ApiError& error) override { batch_->fail(error); }

 private:
  std::shared_ptr<EmbeddingBatch> batch_;
  size_t index_;
};

void EmbeddingBatch::start_next() {
  Request request;
  size_t index = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (failed_ || next_ == requests_.size()) return;
    index = next_++;
    request = std::move(requests_[index]);
  }
  try {
    const std::shared_ptr<Answer> answer =
        Answer::start(worker_, service_, std::move(request), nullptr, std::make_unique<EmbeddingWriter>(shared_from_this(), index));
    const std::scoped_lock lock(mutex_);
    live_.push_back(answer);
    if (failed_) answer->cancel();
  } catch (const ApiError& error) {
    fail(error);
  }
}

void embeddings(Worker& worker, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const Json body = parse_body(http.body);
  Fields fields(body);
  fields.require("input");
  std::vector<Request> requests = read_prompts(fields, service->engine->tokenizer(), "input", kMaxInputs, /*parses_special=*/false);
  bool as_base64 = false;
  if (const auto format = fields.text("encoding_format")) {
    as_base64 = *format == "base64";
    if (!as_base64 && *format != "float") fields.violate("encoding_format", "must be \"float\" or \"base64\"");
  }
  if (const auto value = fields.integer("dimensions", 1); value && *value != service->engine->info().width) {
    fields.violate("dimensions", fmt::format("must be {}: this model's embeddings are not shortened", service->engine->info().width));
  }
  fields.check();
  for (Request& request : requests) request.task = Request::Task::embed;
  std::make_shared<EmbeddingBatch>(worker, service, std::move(requests), as_base64)->start(exchange);
}

}  // namespace

void add_embedding_routes(Router& router, Worker& worker) {
  for (const char* path : {"/v1/embeddings", "/openai/v1/embeddings"}) {
    router.add("POST", path, Dialect::openai,
               [&worker](HttpRequest& request, const Exchange& exchange) { embeddings(worker, request, exchange); });
  }
}

}  // namespace wick::server
