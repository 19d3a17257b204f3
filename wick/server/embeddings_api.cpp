#include "wick/server/embeddings_api.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "wick/base/base64.h"
#include "wick/base/fail.h"
#include "wick/engine/label_scores.h"
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
// vectors for each text. Scores: Jina's list of results. Labels: vLLM's list. Plain: the lists of Text Embeddings Inference.
enum class Form { numbers, base64, ollama, ollama_one, llama, plain_vectors, scores, plain_scores, labels };

const Dialect& dialect_of(Form form) {
  switch (form) {
    case Form::numbers:
    case Form::base64: return Dialect::openai;
    case Form::ollama:
    case Form::ollama_one: return Dialect::ollama;
    case Form::llama:
    case Form::plain_vectors:
    case Form::scores:
    case Form::plain_scores:
    case Form::labels: return Dialect::llama;
  }
  return Dialect::openai;
}

struct EmbeddingAnswer {
  Form form = Form::numbers;
  int64_t norm = kEuclideanNorm;
  size_t most_scores = kMaxInputs;
  int64_t dimensions = 0;  // of vectors; 0: all
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
    if (form == Form::labels) return respond_with_labels();
    if (form == Form::llama && service_->engine->info().embeds_each_token) return respond_with_tokens();
    for (std::vector<float>& vector : vectors_) {
      if (answer_.dimensions > 0) vector.resize(std::min(vector.size(), static_cast<size_t>(answer_.dimensions)));
      normalize(vector, answer_.norm);
    }
    if (form == Form::llama) return respond_with_tokens();
    if (form == Form::plain_vectors) return exchange_->respond(json_response(200, to_text(vectors_)));
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
    const EngineInfo info = service_->engine->info();
    const bool is_cut = answer_.dimensions > 0 && !info.embeds_each_token;
    const auto width = static_cast<size_t>(is_cut ? answer_.dimensions : info.width);
    Json list = Json::array();
    for (const std::vector<float>& vectors : vectors_) {
      Json rows = Json::array();
      for (size_t first = 0; first < vectors.size(); first += width) rows.push_back(std::span(vectors).subspan(first, width));
      list.push_back({{"index", list.size()}, {"embedding", std::move(rows)}});
    }
    exchange_->respond(json_response(200, to_text(list)));
  }

  void respond_with_scores() {
    const std::optional<Classifier> classifier = service_->engine->info().classifier;
    std::vector<float> scores;
    for (const std::vector<float>& results : vectors_) scores.push_back(pair_score(classifier, results));
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

  void respond_with_labels() {
    const Classifier classifier = *service_->engine->info().classifier;
    const size_t width = classifier.labels.size();
    Json list = Json::array();
    for (const std::vector<float>& results : vectors_) {
      Json one = {{"index", list.size()}, {"num_classes", width}};
      if (!classifier.of_tokens) {
        one.update(label_of(classifier, results));
      } else {
        Json tokens = Json::array();
        for (size_t first = 0; first + width <= results.size(); first += width) {
          tokens.push_back(label_of(classifier, std::span(results).subspan(first, width)));
        }
        one["tokens"] = std::move(tokens);
      }
      list.push_back(std::move(one));
    }
    exchange_->respond(json_response(200, to_text({{"object", "list"},
                                                   {"data", std::move(list)},
                                                   {"labels", classifier.labels},
                                                   {"model", service_->model_id},
                                                   {"usage", {{"prompt_tokens", tokens_}, {"total_tokens", tokens_}}}})));
  }
  static Json label_of(const Classifier& classifier, std::span<const float> results) {
    const std::vector<float> scores = label_scores(classifier, results);
    return {{"label", classifier.labels[best_label(scores)]}, {"probs", scores}};
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

// "truncate", and with it "truncation_direction", as Text Embeddings Inference has them.
Truncation truncation_of(Fields& fields, bool by_default) {
  const std::optional<bool> wanted = fields.boolean("truncate");
  const std::optional<std::string> side = fields.text("truncation_direction");
  if (side && *side != "Left" && *side != "left" && *side != "Right" && *side != "right") {
    fields.violate("truncation_direction", "must be \"left\" or \"right\"");
  }
  if (!wanted.value_or(by_default)) return Truncation::none;
  return side && (*side == "Left" || *side == "left") ? Truncation::start : Truncation::end;
}

// The prompt of "prompt_name", or of "input_type" where that is a word for one of the model's.
std::string prompt_of(Fields& fields, const TextPrompts& prompts) {
  std::optional<std::string> name = fields.text("prompt_name");
  if (!name) {
    const std::optional<std::string> type = fields.text("input_type");
    const auto has = [&](std::string_view one) {
      return std::any_of(prompts.all.begin(), prompts.all.end(), [&](const auto& each) { return each.first == one; });
    };
    if (type && has(*type)) {
      name = type;
    } else if (type && (*type == "document" || *type == "passage")) {
      name = has("document") ? "document" : "passage";
      if (!has(*name)) return {};  // documents have none
    }
  }
  try {
    return std::string(prompts.find(name));
  } catch (const Error& error) {
    fields.violate("prompt_name", error.what());
    return {};
  }
}

// An empty text has a vector where the tokenizer puts tokens around it, as in sentence-transformers, or where there is a token to begin
// with.
void check_empty_texts(Fields& fields, const char* name, std::span<const Request> requests, const Tokenizer& tokenizer) {
  for (size_t index = 0; index < requests.size(); ++index) {
    const Request& request = requests[index];
    const bool is_blank = request.tokens.empty() && request.prompt.find_first_not_of(" \t\r\n") == std::string::npos;
    if (!is_blank || !tokenizer.encode(request.prompt, {.add_special = true, .parse_special = false}).empty()) continue;
    const std::string path = fields.find(name)->is_array() ? fmt::format("{}[{}]", fields.path_of(name), index) : fields.path_of(name);
    return fields.violate_path(path, "is empty, and this model's tokenizer puts no tokens around a text: give a text, or leave it out",
                               "\"\"");
  }
}

// `name`: the field that the requests were read from.
void start(Worker& worker, const std::shared_ptr<Service>& service, Fields& fields, const char* name, std::vector<Request> requests,
           EmbeddingAnswer answer, const Exchange& exchange) {
  const EngineInfo info = service->engine->info();
  answer.dimensions = fields.integer("dimensions", 1).value_or(0);
  if (answer.dimensions > info.width)
    fields.violate("dimensions", fmt::format("must be at most the {} of this model's vectors", info.width));
  if (info.embeds_each_token && answer.form != Form::llama) {
    throw ApiError(400, "INVALID_REQUEST",
                   service->model_id +
                       " gives a vector for each token (--pooling none); ask /embedding, or start the server with another "
                       "--pooling");
  }
  if (info.pooling == Pooling::rank) {
    throw ApiError(
        400, "INVALID_REQUEST",
        service->model_id + " scores texts and gives no vectors; ask /v1/rerank or /v1/classify, or start the server with --pooling");
  }
  // Ollama cuts texts where nothing is said.
  const Truncation truncation = truncation_of(fields, answer.form == Form::ollama || answer.form == Form::ollama_one);
  const std::string prompt = prompt_of(fields, info.prompts);
  for (Request& request : requests) {
    request.task = Request::Task::embed;
    request.truncation = truncation;
    if (request.tokens.empty()) request.prompt.insert(0, prompt);
  }
  check_empty_texts(fields, name, requests, service->engine->tokenizer());
  fields.check();
  std::make_shared<EmbeddingBatch>(worker, service, std::move(requests), answer)->start(exchange);
}

// What a model is not for, as an answer.
void check_use(const std::function<void()>& check) {
  try {
    check();
  } catch (const Error& error) {
    throw ApiError(400, "INVALID_REQUEST", error.what());
  }
}

Request pair_request(const Service& service, const std::string& first, const std::string& second, Truncation truncation) {
  TextPair pair = encode_pair(service.engine->tokenizer(), first, second);
  return {.task = Request::Task::embed, .tokens = std::move(pair.tokens), .second = pair.second, .truncation = truncation};
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
  const Truncation truncation = truncation_of(fields, false);
  fields.check();
  const EngineInfo info = service->engine->info();
  check_use([&] { require_reranker(service->model_id, info.pooling, info.classifier); });
  std::vector<Request> requests;
  for (const std::string& document : documents) requests.push_back(pair_request(*service, query, document, truncation));
  const EmbeddingAnswer answer{.form = is_plain ? Form::plain_scores : Form::scores, .most_scores = most};
  std::make_shared<EmbeddingBatch>(worker, service, std::move(requests), answer)->start(exchange);
}

// {"input"}: a text, tokens, or a list of these; an item [text, text] of a list is a pair.
void classify(Worker& worker, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const Json& body = http.json();
  Fields fields(body);
  fields.require("input");
  const Truncation truncation = truncation_of(fields, false);
  const Json* const input = fields.find("input");
  const auto is_pair = [](const Json& item) { return item.is_array() && item.size() == 2 && item[0].is_string() && item[1].is_string(); };
  std::vector<Request> requests;
  if (input != nullptr && input->is_array() && !input->empty() && input->size() <= kMaxInputs &&
      std::all_of(input->begin(), input->end(), is_pair)) {
    for (const Json& item : *input)
      requests.push_back(pair_request(*service, item[0].get<std::string>(), item[1].get<std::string>(), truncation));
  } else {
    requests = read_prompts(fields, service->engine->tokenizer(), "input", kMaxInputs, /*parses_special=*/false);
  }
  fields.check();
  const EngineInfo info = service->engine->info();
  check_use([&] { require_classifier(service->model_id, info.pooling, info.classifier); });
  for (Request& request : requests) request.task = Request::Task::embed, request.truncation = truncation;
  std::make_shared<EmbeddingBatch>(worker, service, std::move(requests), EmbeddingAnswer{.form = Form::labels})->start(exchange);
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
  start(worker, service, fields, "input", std::move(requests), answer, exchange);
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
  start(worker, service, fields, name, std::move(requests), answer, exchange);
}

// {"inputs", "normalize"} of Text Embeddings Inference.
void plain_embeddings(Worker& worker, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const Json& body = http.json();
  Fields fields(body);
  fields.require("inputs");
  std::vector<Request> requests = read_prompts(fields, service->engine->tokenizer(), "inputs", kMaxInputs, /*parses_special=*/false);
  EmbeddingAnswer answer{.form = Form::plain_vectors};
  if (!fields.boolean("normalize").value_or(true)) answer.norm = kNoNorm;
  start(worker, service, fields, "inputs", std::move(requests), answer, exchange);
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
  start(worker, service, fields, name, std::move(requests), {.form = is_old ? Form::ollama_one : Form::ollama}, exchange);
}

}  // namespace

void add_llama_embedding_routes(Router& router, Worker& worker) {
  for (const char* path : {"/rerank", "/reranking", "/v1/rerank", "/v1/reranking"}) {
    router.add("POST", path, Dialect::llama,
               [&worker](HttpRequest& request, const Exchange& exchange) { rerank(worker, request, exchange); });
  }
  for (const char* path : {"/embedding", "/embeddings"}) {
    router.add("POST", path, Dialect::llama,
               [&worker](HttpRequest& request, const Exchange& exchange) { llama_embeddings(worker, request, exchange); });
  }
  router.add("POST", "/embed", Dialect::llama,
             [&worker](HttpRequest& request, const Exchange& exchange) { plain_embeddings(worker, request, exchange); });
  for (const char* path : {"/classify", "/v1/classify"}) {
    router.add("POST", path, Dialect::llama,
               [&worker](HttpRequest& request, const Exchange& exchange) { classify(worker, request, exchange); });
  }
}

void add_openai_embedding_routes(Router& router, Worker& worker) {
  for (const char* path : {"/v1/embeddings", "/openai/v1/embeddings"}) {
    router.add("POST", path, Dialect::openai,
               [&worker](HttpRequest& request, const Exchange& exchange) { embeddings(worker, request, exchange); });
  }
}

void add_ollama_embedding_routes(Router& router, Worker& worker) {
  router.add("POST", "/api/embed", Dialect::ollama,
             [&worker](HttpRequest& request, const Exchange& exchange) { ollama_embeddings(worker, request, exchange, false); });
  router.add("POST", "/api/embeddings", Dialect::ollama,
             [&worker](HttpRequest& request, const Exchange& exchange) { ollama_embeddings(worker, request, exchange, true); });
}

}  // namespace wick::server
