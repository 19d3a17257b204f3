#include "wick/server/embeddings_api.h"

#include <bit>
#include <cmath>
#include <mutex>
#include <utility>

#include "wick/base/fail.h"
#include "wick/server/answer.h"
#include "wick/server/prompts.h"
#include "wick/text/base64.h"

namespace wick::server {
namespace {

constexpr size_t kMostInputs = 2048;  // OpenAI's

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

class EmbeddingResponse {
 public:
  EmbeddingResponse(Exchange exchange, std::string model, size_t count, bool as_base64)
      : exchange_(std::move(exchange)), model_(std::move(model)), vectors_(count), as_base64_(as_base64) {}

  void complete(size_t index, const FinishEvent& event) {
    const std::scoped_lock lock(mutex_);
    vectors_[index] = event.embedding;
    tokens_ += event.usage.prompt_tokens;
    if (++done_ == vectors_.size() && !failed_) respond();
  }
  void fail(const ApiError& error) {
    const std::scoped_lock lock(mutex_);
    if (!std::exchange(failed_, true)) exchange_->respond(error.response(Dialect::openai));
  }

 private:
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
                                                   {"model", model_},
                                                   {"usage", {{"prompt_tokens", tokens_}, {"total_tokens", tokens_}}}})));
  }

  Exchange exchange_;
  std::string model_;
  std::mutex mutex_;
  std::vector<std::vector<float>> vectors_;
  bool as_base64_, failed_ = false;
  size_t done_ = 0;
  int64_t tokens_ = 0;
};

class EmbeddingWriter final : public AnswerWriter {
 public:
  EmbeddingWriter(std::shared_ptr<EmbeddingResponse> response, size_t index) : response_(std::move(response)), index_(index) {}
  void complete(const std::vector<Choice>& choices, const PromptEvent&) override { response_->complete(index_, choices.front().finish); }
  void fail(const ApiError& error) override { response_->fail(error); }

 private:
  std::shared_ptr<EmbeddingResponse> response_;
  size_t index_;
};

void embeddings(Worker& worker, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const Json body = parse_body(http.body);
  Fields fields(body);
  fields.require("input");
  std::vector<Request> requests = read_prompts(fields, service->engine->tokenizer(), "input", kMostInputs, /*parses_special=*/false);
  bool as_base64 = false;
  if (const auto format = fields.text("encoding_format")) {
    as_base64 = *format == "base64";
    if (!as_base64 && *format != "float") fields.violate("encoding_format", "must be \"float\" or \"base64\"");
  }
  if (const auto value = fields.integer("dimensions", 1); value && *value != service->engine->info().width) {
    fields.violate("dimensions", fmt::format("must be {}: this model's embeddings are not shortened", service->engine->info().width));
  }
  fields.check();
  const auto response = std::make_shared<EmbeddingResponse>(exchange, service->model_id, requests.size(), as_base64);
  for (Request& request : requests) request.task = Request::Task::embed;
  try {
    start_answers(worker, service, std::move(requests), exchange,
                  [&](size_t index) { return std::make_unique<EmbeddingWriter>(response, index); });
  } catch (const ApiError& error) {
    response->fail(error);
  }
}

}  // namespace

void add_embedding_routes(Router& router, Worker& worker) {
  for (const char* path : {"/v1/embeddings", "/openai/v1/embeddings"}) {
    router.add("POST", path, Dialect::openai,
               [&worker](HttpRequest& request, const Exchange& exchange) { embeddings(worker, request, exchange); });
  }
}

}  // namespace wick::server
