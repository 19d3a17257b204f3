#include "wick/server/embeddings_api.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <mutex>
#include <span>
#include <utility>

#include "wick/base/base64.h"
#include "wick/base/fail.h"
#include "wick/engine/prompt.h"
#include "wick/engine/ranking.h"
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

// The norms of vectors, by llama-server's numbers; a higher number p is the p-norm.
constexpr int64_t kNoNorm = -1;
constexpr int64_t kMaxNorm = 0;  // the largest magnitude becomes 32760, for 16-bit integers
constexpr int64_t kEuclideanNorm = 2;

double norm_of(std::span<const float> vector, int64_t norm) {
  double sum = 0;
  if (norm == kMaxNorm) {
    for (const float number : vector) sum = std::max(sum, std::abs(double{number}));
    return sum / 32760;
  }
  const auto power = static_cast<double>(norm);
  for (const float number : vector) sum += norm == kEuclideanNorm ? double{number} * number : std::pow(std::abs(double{number}), power);
  return norm == kEuclideanNorm ? std::sqrt(sum) : std::pow(sum, 1 / power);
}

void normalize(std::vector<float>& vector, int64_t norm) {
  const double length = norm == kNoNorm ? 1 : norm_of(vector, norm);
  if (length <= 0) return;
  for (float& number : vector) number = static_cast<float>(number / length);
}

// How vectors are answered: OpenAI's list of numbers or of base64, Ollama's list, Ollama's older one vector, or llama-server's list of
// vectors for each text. Scores: Jina's list of results, or the plain list of Text Embeddings Inference.
enum class Form { numbers, base64, ollama, ollama_one, llama, scores, plain_scores };

Dialect dialect_of(Form form) {
  switch (form) {
    case Form::numbers:
    case Form::base64: return Dialect::openai;
    case Form::ollama:
    case Form::ollama_one: return Dialect::ollama;
    case Form::llama:
    case Form::scores:
    case Form::plain_scores: return Dialect::llama;
  }
  return Dialect::openai;
}

struct EmbeddingAnswer {
  Form form = Form::numbers;
  int64_t norm = kEuclideanNorm;
  size_t most_scores = kMaxInputs;
};

// The inputs of one request, of which as many are under way as the engine computes at once: a list may be longer than the queue.
class EmbeddingBatch : public std::enable_shared_from_this<EmbeddingBatch> {
 public:
  EmbeddingBatch(const Worker& worker, std::shared_ptr<Service> service, std::vector<Request> requests, EmbeddingAnswer answer)
      : worker_(worker), service_(std::move(service)), requests_(std::move(requests)), vectors_(requests_.size()), answer_(answer) {}

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
    exchange_->respond(error.response(dialect_of(answer_.form)));
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
    const Form form = answer_.form;
    if (form == Form::scores || form == Form::plain_scores) return respond_with_scores();
    if (form == Form::llama && service_->engine->info().embeds_each_token) return respond_with_tokens();
    for (std::vector<float>& vector : vectors_) normalize(vector, answer_.norm);
    if (form == Form::llama) return respond_with_tokens();
    if (form == Form::ollama || form == Form::ollama_one) return respond_as_ollama();
    Json list = Json::array();
    for (const std::vector<float>& vector : vectors_) {
      Json value;
      if (form == Form::base64) {
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

  // A list of vectors for each text: of one, or without pooling of one for each token.
  void respond_with_tokens() {
    const auto width = static_cast<size_t>(service_->engine->info().width);
    Json list = Json::array();
    for (const std::vector<float>& vectors : vectors_) {
      Json rows = Json::array();
      for (size_t first = 0; first < vectors.size(); first += width) rows.push_back(std::span(vectors).subspan(first, width));
      list.push_back({{"index", list.size()}, {"embedding", std::move(rows)}});
    }
    exchange_->respond(json_response(200, to_text(list)));
  }

  void respond_with_scores() {
    std::vector<float> scores;
    for (const std::vector<float>& vector : vectors_) scores.push_back(vector.front());
    std::vector<size_t> order = rank_scores(scores);
    order.resize(std::min(order.size(), answer_.most_scores));
    Json list = Json::array();
    for (const size_t index : order) {
      list.push_back({{"index", index}, {answer_.form == Form::scores ? "relevance_score" : "score", scores[index]}});
    }
    if (answer_.form == Form::plain_scores) return exchange_->respond(json_response(200, to_text(list)));
    exchange_->respond(json_response(200, to_text({{"model", service_->model_id},
                                                   {"object", "list"},
                                                   {"usage", {{"prompt_tokens", tokens_}, {"total_tokens", tokens_}}},
                                                   {"results", std::move(list)}})));
  }

  void respond_as_ollama() {
    if (answer_.form == Form::ollama_one) return exchange_->respond(json_response(200, to_text({{"embedding", vectors_.front()}})));
    const std::chrono::nanoseconds time = std::chrono::steady_clock::now() - begun_;
    exchange_->respond(json_response(200, to_text({{"model", service_->model_id},
                                                   {"embeddings", vectors_},
                                                   {"total_duration", time.count()},
                                                   {"load_duration", 0},
                                                   {"prompt_eval_count", tokens_}})));
  }

  const Worker& worker_;
  std::shared_ptr<Service> service_;
  Exchange exchange_;
  std::mutex mutex_;
  std::vector<Request> requests_;
  std::vector<std::vector<float>> vectors_;
  std::vector<std::weak_ptr<Answer>> live_;
  EmbeddingAnswer answer_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  bool failed_ = false;
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

void start(Worker& worker, const std::shared_ptr<Service>& service, Fields& fields, std::vector<Request> requests,
           const EmbeddingAnswer& answer, const Exchange& exchange) {
  const EngineInfo& info = service->engine->info();
  if (const auto value = fields.integer("dimensions", 1); value && *value != info.width) {
    fields.violate("dimensions", fmt::format("must be {}: this model's embeddings are not shortened", info.width));
  }
  if (info.embeds_each_token && answer.form != Form::llama) {
    throw ApiError(400, "INVALID_REQUEST",
                   service->model_id +
                       " gives a vector for each token (--pooling none); ask /embedding, or start the server with another "
                       "--pooling");
  }
  if (info.pooling == Pooling::rank) {
    throw ApiError(400, "INVALID_REQUEST",
                   service->model_id + " scores pairs of texts and gives no vectors; ask /v1/rerank, or start the server with --pooling");
  }
  fields.check();
  for (Request& request : requests) request.task = Request::Task::embed;
  std::make_shared<EmbeddingBatch>(worker, service, std::move(requests), answer)->start(exchange);
}

// {"query", "documents", "top_n"} of Jina's API; {"query", "texts"} of Text Embeddings Inference.
void rerank(Worker& worker, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const Json& body = http.json();
  Fields fields(body);
  fields.require("query");
  const bool is_plain = fields.has("texts") && !fields.has("documents");
  const char* const name = is_plain ? "texts" : "documents";
  fields.require(name);
  const std::string query = fields.text("query").value_or("");
  const std::vector<std::string> documents = fields.texts(name, kMaxInputs);
  const auto most = static_cast<size_t>(fields.integer("top_n", 1).value_or(static_cast<int64_t>(kMaxInputs)));
  if (fields.has(name) && documents.empty() && !fields.is_violated(name)) fields.violate(name, "must have at least one text");
  fields.check();
  if (service->engine->info().pooling != Pooling::rank) {
    throw ApiError(400, "INVALID_REQUEST", service->model_id + " is no reranker: it has no head that scores pairs of texts");
  }
  std::vector<Request> requests;
  for (const std::string& document : documents) {
    requests.push_back({.task = Request::Task::embed, .tokens = encode_pair(service->engine->tokenizer(), query, document)});
  }
  const EmbeddingAnswer answer{.form = is_plain ? Form::plain_scores : Form::scores, .most_scores = most};
  std::make_shared<EmbeddingBatch>(worker, service, std::move(requests), answer)->start(exchange);
}

void embeddings(Worker& worker, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const Json& body = http.json();
  Fields fields(body);
  fields.require("input");
  std::vector<Request> requests = read_prompts(fields, service->engine->tokenizer(), "input", kMaxInputs, /*parses_special=*/false);
  EmbeddingAnswer answer;
  if (const auto format = fields.text("encoding_format")) {
    if (*format == "base64") answer.form = Form::base64;
    if (*format != "base64" && *format != "float") fields.violate("encoding_format", "must be \"float\" or \"base64\"");
  }
  start(worker, service, fields, std::move(requests), answer, exchange);
}

// {"content" or "input", "embd_normalize"} of llama-server.
void llama_embeddings(Worker& worker, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const Json& body = http.json();
  Fields fields(body);
  const char* const name = fields.has("input") && !fields.has("content") ? "input" : "content";
  fields.require(name);
  std::vector<Request> requests = read_prompts(fields, service->engine->tokenizer(), name, kMaxInputs, /*parses_special=*/true);
  EmbeddingAnswer answer{.form = Form::llama};
  constexpr int64_t kHighestNorm = 1000;
  answer.norm = fields.integer("embd_normalize", kNoNorm, kHighestNorm).value_or(kEuclideanNorm);
  start(worker, service, fields, std::move(requests), answer, exchange);
}

// {"model", "input"} of /api/embed; {"model", "prompt"} of /api/embeddings.
void ollama_embeddings(Worker& worker, const HttpRequest& http, const Exchange& exchange, bool is_old) {
  const std::shared_ptr<Service> service = worker.service();
  const Json& body = http.json();
  Fields fields(body);
  const char* const name = is_old ? "prompt" : "input";
  fields.require(name);
  std::vector<Request> requests =
      read_prompts(fields, service->engine->tokenizer(), name, is_old ? 1 : kMaxInputs, /*parses_special=*/false);
  start(worker, service, fields, std::move(requests), {.form = is_old ? Form::ollama_one : Form::ollama}, exchange);
}

}  // namespace

void add_embedding_routes(Router& router, Worker& worker) {
  for (const char* path : {"/rerank", "/reranking", "/v1/rerank", "/v1/reranking"}) {
    router.add("POST", path, Dialect::llama,
               [&worker](HttpRequest& request, const Exchange& exchange) { rerank(worker, request, exchange); });
  }
  for (const char* path : {"/embedding", "/embeddings"}) {
    router.add("POST", path, Dialect::llama,
               [&worker](HttpRequest& request, const Exchange& exchange) { llama_embeddings(worker, request, exchange); });
  }
  for (const char* path : {"/v1/embeddings", "/openai/v1/embeddings"}) {
    router.add("POST", path, Dialect::openai,
               [&worker](HttpRequest& request, const Exchange& exchange) { embeddings(worker, request, exchange); });
  }
  router.add("POST", "/api/embed", Dialect::ollama,
             [&worker](HttpRequest& request, const Exchange& exchange) { ollama_embeddings(worker, request, exchange, false); });
  router.add("POST", "/api/embeddings", Dialect::ollama,
             [&worker](HttpRequest& request, const Exchange& exchange) { ollama_embeddings(worker, request, exchange, true); });
}

}  // namespace wick::server
