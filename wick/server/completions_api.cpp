#include "wick/server/completions_api.h"

#include <mutex>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/utf8.h"
#include "wick/server/adapter_fields.h"
#include "wick/server/answer_format.h"
#include "wick/server/event_stream.h"
#include "wick/server/generation_fields.h"
#include "wick/server/logprobs_json.h"
#include "wick/server/prompt_length.h"
#include "wick/server/prompts.h"
#include "wick/server/request_id.h"
#include "wick/server/usage_json.h"

namespace wick::server {
namespace {

constexpr int64_t kCompletionTokens = 16;  // OpenAI's
constexpr int64_t kMaxChoices = 128;
constexpr int64_t kMaxLogprobs = 20;

struct CompletionSettings {
  StreamOptions stream;
  bool has_logprobs = false;
};

// What the answers to all prompts of one request share: the response that they make together.
class CompletionResponse {
 public:
  CompletionResponse(Exchange exchange, std::shared_ptr<Service> service, const CompletionSettings& options, size_t prompts,
                     int64_t choices)
      : exchange_(std::move(exchange)), service_(std::move(service)), options_(options), choices_of_prompt_(choices), answers_(prompts) {}

  void begin() {
    const std::scoped_lock lock(mutex_);
    if (!std::exchange(has_begun_, true) && options_.stream.streams) begin_events(*exchange_);
  }

  void piece(size_t prompt, int64_t choice, std::string text, Json logprobs, Json reason) {
    if (!options_.stream.streams) return;
    exchange_->write(json_event(chunk(prompt, choice, std::move(text), std::move(logprobs), std::move(reason))));
  }

  void progress(size_t prompt, const ProgressEvent& event) {
    Json json = chunk(prompt, 0, "", nullptr, nullptr);
    json["prompt_progress"] = progress_json(event);
    exchange_->write(json_event(json));
  }

  void complete(size_t prompt, const std::vector<Choice>& choices, const PromptEvent& event) {
    const std::scoped_lock lock(mutex_);
    answers_[prompt] = {choices, event};
    if (++done_ == answers_.size() && !failed_) respond();
  }

  void fail(const ApiError& error) {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(failed_, true)) return;
    if (!has_begun_ || !options_.stream.streams) {
      exchange_->respond(error.response(Dialect::openai));
      return;
    }
    exchange_->write(error.stream_end(Dialect::openai));
    exchange_->end();
  }

  [[nodiscard]] const Tokenizer& tokenizer() const { return service_->engine->tokenizer(); }
  [[nodiscard]] bool has_logprobs() const noexcept { return options_.has_logprobs; }

 private:
  struct PromptAnswer {
    std::vector<Choice> choices;
    PromptEvent prompt;
  };

  [[nodiscard]] Json head() const {
    return {{"id", id_}, {"object", "text_completion"}, {"created", created_}, {"model", service_->model_id}};
  }

  [[nodiscard]] Json chunk(size_t prompt, int64_t choice, std::string text, Json logprobs, Json reason) const {
    Json json = head();
    json["choices"] = {{{"index", static_cast<int64_t>(prompt) * choices_of_prompt_ + choice},
                        {"text", std::move(text)},
                        {"logprobs", std::move(logprobs)},
                        {"finish_reason", std::move(reason)}}};
    if (options_.stream.with_usage) json["usage"] = nullptr;
    return json;
  }

  void respond() {
    std::vector<Choice> all;
    int64_t prompt_tokens = 0;
    int64_t cached = 0;
    Json list = Json::array();
    for (const PromptAnswer& answer : answers_) {
      for (const Choice& choice : answer.choices) list.push_back(choice_json(answer, choice, list.size()));
      all.insert(all.end(), answer.choices.begin(), answer.choices.end());
      prompt_tokens += answer.choices.front().finish.usage.prompt_tokens;
      cached += answer.choices.front().finish.usage.cached_tokens;
    }
    Json usage = usage_json(all);
    usage["prompt_tokens"] = prompt_tokens;
    usage["total_tokens"] = prompt_tokens + usage["completion_tokens"].get<int64_t>();
    usage["prompt_tokens_details"]["cached_tokens"] = cached;
    Json json = head();
    if (!options_.stream.streams) {
      json["choices"] = std::move(list);
      json["usage"] = std::move(usage);
      exchange_->respond(json_response(200, to_text(json)));
      return;
    }
    if (options_.stream.with_usage) {
      json["choices"] = Json::array();
      json["usage"] = std::move(usage);
      exchange_->write(json_event(json));
    }
    exchange_->write(event_text(std::string_view("[DONE]")));
    exchange_->end();
  }

  [[nodiscard]] Json choice_json(const PromptAnswer& answer, const Choice& choice, size_t index) const {
    Json logprobs = nullptr;
    if (options_.has_logprobs) {
      const auto offset = static_cast<int64_t>(count_characters(answer.prompt.text));
      logprobs = completion_logprobs(tokenizer(), choice.logprobs, offset);
      if (!answer.prompt.text.empty() && !answer.prompt.logprobs.empty()) logprobs = with_prompt(answer, std::move(logprobs));
    }
    return {{"index", index},
            {"text", answer.prompt.text + choice.text},
            {"logprobs", std::move(logprobs)},
            {"finish_reason", finish_reason(choice.finish.reason)}};
  }

  // With echo the prompt's tokens come first; the first of them has no probability.
  [[nodiscard]] Json with_prompt(const PromptAnswer& answer, Json generated) const {
    std::vector<GeneratedLogprob> values(answer.prompt.logprobs);
    values.insert(values.begin(), GeneratedLogprob{.chosen = {answer.prompt.tokens.front(), 0}, .top = {}});
    Json json = completion_logprobs(tokenizer(), values, 0);
    json["token_logprobs"][0] = nullptr;
    json["top_logprobs"][0] = nullptr;
    for (const char* name : {"tokens", "token_logprobs", "top_logprobs", "text_offset"}) {
      for (Json& item : generated[name]) json[name].push_back(std::move(item));
    }
    return json;
  }

  Exchange exchange_;
  std::shared_ptr<Service> service_;
  CompletionSettings options_;
  int64_t choices_of_prompt_;
  std::string id_ = random_id("cmpl-");
  int64_t created_ = Worker::unix_time();
  std::mutex mutex_;
  bool has_begun_ = false, failed_ = false;
  size_t done_ = 0;
  std::vector<PromptAnswer> answers_;
};

class CompletionWriter final : public AnswerWriter {
 public:
  CompletionWriter(std::shared_ptr<CompletionResponse> response, size_t prompt, bool echoes)
      : response_(std::move(response)), prompt_(prompt), echoes_(echoes) {}

  void begin() override { response_->begin(); }
  void progress(const ProgressEvent& event) override { response_->progress(prompt_, event); }
  void prompt(const PromptEvent& event) override {
    if (echoes_) response_->piece(prompt_, 0, event.text, nullptr, nullptr);
  }
  void token(const Choice& choice, const TokenEvent& event) override {
    Json logprobs = nullptr;
    if (response_->has_logprobs() && event.logprob) {
      const size_t before = choice.text.size() - event.text.size();
      logprobs = completion_logprobs(response_->tokenizer(), std::span(&*event.logprob, 1),
                                     static_cast<int64_t>(count_characters(std::string_view(choice.text).substr(0, before))));
    }
    if (!event.text.empty() || !logprobs.is_null()) response_->piece(prompt_, event.choice, event.text, std::move(logprobs), nullptr);
  }
  void finish(const Choice&, const FinishEvent& event) override {
    response_->piece(prompt_, event.choice, event.text, nullptr, finish_reason(event.reason));
  }
  void complete(const std::vector<Choice>& choices, const PromptEvent& prompt) override { response_->complete(prompt_, choices, prompt); }
  void fail(const ApiError& error) override { response_->fail(error); }

 private:
  std::shared_ptr<CompletionResponse> response_;
  size_t prompt_;
  bool echoes_;
};

void read_counts(Fields& fields, Request& request, CompletionSettings& options) {
  if (const auto value = fields.integer("n", 1, kMaxChoices)) request.n = *value;
  if (const auto value = fields.integer("best_of", 1, kMaxChoices)) request.best_of = *value;
  if (fields.has("best_of") && request.best_of < request.n) fields.violate("best_of", "must not be less than n");
  if (request.best_of == request.n) request.best_of = 0;
  if (const auto value = fields.integer("logprobs", 0, kMaxLogprobs)) {
    request.params.logprobs = value;
    options.has_logprobs = true;
  }
  if (const auto value = fields.boolean("echo")) request.echo = *value;
  if (request.echo && options.has_logprobs) request.prompt_logprobs = request.params.logprobs;
  options.stream = read_stream_options(fields);
  request.report_progress = options.stream.with_progress;
  if (options.stream.streams && request.best_of > 0) fields.violate("best_of", "cannot be streamed: the best is known at the end");
}

void completions(Worker& worker, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const Json& body = http.json();
  Fields fields(body);
  Request common;
  CompletionSettings options;
  fields.require("prompt");
  std::vector<Request> requests = read_prompts(fields, service->engine->tokenizer(), "prompt", kMaxPrompts, /*parses_special=*/false);
  if (fields.has("suffix") && !fields.text("suffix").value_or("").empty()) fields.violate("suffix", "is not supported by this model");
  read_generation(fields, *service, common);
  read_adapters(fields, *service->engine, common.params);
  read_max_tokens(fields, *service, {"max_tokens"}, kCompletionTokens, common);
  read_counts(fields, common, options);
  const std::optional<AnswerFormat> format = read_answer_format(fields);
  fields.check();
  name_user(http, common);
  constrain(*service, format, common);
  for (Request& request : requests) {
    request = with_prompt_of(common, std::move(request));
    fit_into_context(*service->engine, request, fields.has("max_tokens"));
  }
  const auto response = std::make_shared<CompletionResponse>(exchange, service, options, requests.size(), common.n);
  const bool echoes = common.echo;
  try {
    start_answers(worker, service, std::move(requests), exchange,
                  [&](size_t index) { return std::make_unique<CompletionWriter>(response, index, echoes); });
  } catch (const ApiError& error) {
    response->fail(error);
  }
}

}  // namespace

void add_completion_routes(Router& router, Worker& worker) {
  for (const char* path : {"/v1/completions", "/openai/v1/completions"}) {
    router.add("POST", path, Dialect::openai,
               [&worker](HttpRequest& request, const Exchange& exchange) { completions(worker, request, exchange); });
  }
}

}  // namespace wick::server
