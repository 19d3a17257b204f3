#include "wick/server/llama_completion.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include "wick/base/fail.h"
#include "wick/server/adapter_fields.h"
#include "wick/server/answer.h"
#include "wick/server/answer_format.h"
#include "wick/server/event_stream.h"
#include "wick/server/generation_fields.h"
#include "wick/server/infill.h"
#include "wick/server/logprobs_json.h"
#include "wick/server/prompt_length.h"
#include "wick/server/prompts.h"
#include "wick/server/slots.h"
#include "wick/server/usage_json.h"

namespace wick::server {
namespace {

// As chat_logprob, with the tokens' numbers; after sampling, with probabilities in the place of their logarithms.
Json llama_logprob(const Tokenizer& tokenizer, const GeneratedLogprob& value, bool after_sampling) {
  const auto finish = [&](Json& json, const TokenLogprob& token) {
    json["id"] = token.token;
    if (!after_sampling) return;
    json.erase("logprob");
    json["prob"] = std::exp(token.logprob);
  };
  Json json = chat_logprob(tokenizer, value);
  Json top = std::move(json["top_logprobs"]);
  json.erase("top_logprobs");
  finish(json, value.chosen);
  for (size_t i = 0; i < value.top.size(); ++i) finish(top[i], value.top[i]);
  json[after_sampling ? "top_probs" : "top_logprobs"] = std::move(top);
  return json;
}

constexpr size_t kMaxFields = 64;

struct LlamaOptions {
  int64_t slot = 0;
  bool streams = false;
  bool returns_tokens = false;
  int64_t probabilities = 0;
  bool after_sampling = false;           // the probabilities that tokens are drawn with, in place of the model's own
  std::vector<std::string> fields = {};  // what the answer has; "timings/prompt_n" is a member of a member. Empty: everything
};

// What the answers to all prompts of one request share: the response that they make together, an object, or a list for several prompts.
class LlamaResponse {
 public:
  LlamaResponse(Exchange exchange, bool streams, size_t prompts) : exchange_(std::move(exchange)), streams_(streams), answers_(prompts) {}

  void begin() {
    const std::scoped_lock lock(mutex_);
    if (!std::exchange(has_begun_, true) && streams_) begin_events(*exchange_);
  }
  void piece(const Json& json) {
    if (streams_) exchange_->write(json_event(json));
  }
  void complete(size_t prompt, Json json) {
    const std::scoped_lock lock(mutex_);
    piece(json);
    answers_[prompt] = std::move(json);
    if (++done_ < answers_.size() || failed_) return;
    if (streams_) {
      exchange_->end();
    } else {
      exchange_->respond(json_response(200, to_text(answers_.size() == 1 ? answers_.front() : Json(answers_))));
    }
  }
  void fail(const ApiError& error) {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(failed_, true)) return;
    if (streams_ && has_begun_) {
      exchange_->write(event_text(error.body(Dialect::llama), "error"));
      exchange_->end();
    } else {
      exchange_->respond(error.response(Dialect::llama));
    }
  }

 private:
  Exchange exchange_;
  bool streams_;
  std::mutex mutex_;
  bool has_begun_ = false, failed_ = false;
  size_t done_ = 0;
  std::vector<Json> answers_;
};

// The members that a request asks for, each under the path that it was asked for by; those that are not there are left out.
Json chosen_fields(const Json& json, const std::vector<std::string>& paths) {
  if (paths.empty()) return json;
  Json chosen = Json::object();
  for (const std::string& path : paths) {
    const Json::json_pointer place("/" + path);
    if (json.contains(place)) chosen[path] = json.at(place);
  }
  return chosen;
}

Json settings_json(const Tokenizer& tokenizer, const Request& request) {
  const SamplingParams& sampling = request.params.sampling;
  Json biases = Json::array();
  for (const auto& [token, bias] : sampling.logit_bias) biases.push_back({{"token", token}, {"bias", bias}});
  // null is minus infinity: llama.cpp's way to say that a text does not end.
  if (request.params.ignore_eos) {
    for (const TokenId token : tokenizer.end_of_generation()) biases.push_back({{"token", token}, {"bias", nullptr}});
  }
  Json settings = {{"seed", sampling.seed ? Json(*sampling.seed) : Json(-1)}};
  for (const SamplingParameter& row : kSamplingParameters) {
    row.visit(sampling, [&](auto value) { settings[std::string(row.name_in_requests())] = value; });
  }
  settings["stop"] = request.params.stop;
  settings["n_predict"] = request.params.max_tokens == kUnlimitedTokens ? -1 : request.params.max_tokens;
  settings["logit_bias"] = std::move(biases);
  settings["ignore_eos"] = request.params.ignore_eos;
  return settings;
}

// llama.cpp's own completion: {"content": …, "stop": …, "timings": …}.
class LlamaWriter final : public AnswerWriter {
 public:
  // `index`: of the prompt. `is_cut`: the context holds fewer tokens than the request asks for.
  LlamaWriter(std::shared_ptr<LlamaResponse> response, std::shared_ptr<Service> service, std::shared_ptr<Slots> slots, size_t index,
              const Request& request, bool is_cut, LlamaOptions options)
      : response_(std::move(response)),
        service_(std::move(service)),
        slots_(std::move(slots)),
        index_(index),
        settings_(settings_json(service_->engine->tokenizer(), request)),
        prompt_(request.tokens),
        is_cut_(is_cut),
        options_(std::move(options)) {}

  void begin() override { response_->begin(); }
  void progress(const ProgressEvent& event) override {
    response_->piece({{"index", index_},
                      {"content", ""},
                      {"tokens", Json::array()},
                      {"stop", false},
                      {"tokens_predicted", 0},
                      {"tokens_evaluated", event.prompt_tokens},
                      {"prompt_progress", progress_json(event)}});
  }
  void token(const Choice& choice, const TokenEvent& event) override {
    if (!options_.streams) return;
    Json json = {{"index", index_}, {"content", event.text}, {"tokens", {event.token}}, {"stop", false}};
    if (event.logprob && options_.probabilities > 0) {
      json["completion_probabilities"] = {probability_json(*event.logprob)};
    }
    json["tokens_predicted"] = choice.tokens.size();
    response_->piece(json);
  }
  void complete(const std::vector<Choice>& choices, const PromptEvent&) override {
    Json json = chosen_fields(last(choices.front()), options_.fields);
    std::vector<TokenId> tokens = std::move(prompt_);
    tokens.insert(tokens.end(), choices.front().tokens.begin(), choices.front().tokens.end());
    slots_->keep(options_.slot, std::move(tokens));
    response_->complete(index_, std::move(json));
  }
  void fail(const ApiError& error) override { response_->fail(error); }

 private:
  static std::string_view stop_type(StopReason reason) {
    switch (reason) {
      case StopReason::end_of_sequence: return "eos";
      case StopReason::stop_sequence: return "word";
      case StopReason::max_tokens:
      case StopReason::context_full: return "limit";
      case StopReason::cancelled:
      case StopReason::deadline: return "none";
    }
    return "none";
  }

  Json probability_json(const GeneratedLogprob& value) const {
    return llama_logprob(service_->engine->tokenizer(), value, options_.after_sampling);
  }

  Json last(const Choice& choice) const {
    const FinishEvent& finish = choice.finish;
    const Timings& timings = finish.timings;
    const auto prompt = static_cast<double>(finish.usage.prompt_tokens - finish.usage.cached_tokens);
    const auto predicted = static_cast<double>(finish.usage.completion_tokens);
    Json json = {{"index", index_},
                 {"id_slot", options_.slot},
                 {"content", options_.streams ? finish.text : choice.text},
                 {"tokens", Json::array()},
                 {"stop", true},
                 {"model", service_->model_id},
                 {"tokens_predicted", finish.usage.completion_tokens},
                 {"tokens_evaluated", finish.usage.prompt_tokens},
                 {"tokens_cached", finish.usage.cached_tokens},
                 {"generation_settings", settings_},
                 {"prompt", service_->engine->tokenizer().decode(prompt_, /*skip_special=*/false)},
                 {"truncated", finish.reason == StopReason::context_full || (is_cut_ && finish.reason == StopReason::max_tokens)},
                 {"stop_type", stop_type(finish.reason)},
                 {"stopping_word", finish.stop_sequence_matched.value_or("")},
                 {"has_new_line", choice.text.find('\n') != std::string::npos},
                 {"timings",
                  {{"cache_n", finish.usage.cached_tokens},
                   {"prompt_n", static_cast<int64_t>(prompt)},
                   {"prompt_ms", timings.prefill * 1000},
                   {"prompt_per_token_ms", prompt > 0 ? timings.prefill * 1000 / prompt : 0},
                   {"prompt_per_second", timings.prefill > 0 ? prompt / timings.prefill : 0},
                   {"predicted_n", finish.usage.completion_tokens},
                   {"predicted_ms", timings.decode * 1000},
                   {"predicted_per_token_ms", predicted > 1 ? timings.decode * 1000 / (predicted - 1) : 0},
                   {"predicted_per_second", timings.decode > 0 ? (predicted - 1) / timings.decode : 0}}}};
    if (options_.returns_tokens && !options_.streams) json["tokens"] = choice.tokens;
    if (options_.probabilities > 0 && !options_.streams) {
      Json& list = json["completion_probabilities"] = Json::array();
      for (const GeneratedLogprob& value : choice.logprobs) list.push_back(probability_json(value));
    }
    return json;
  }

  std::shared_ptr<LlamaResponse> response_;
  std::shared_ptr<Service> service_;
  std::shared_ptr<Slots> slots_;
  size_t index_;
  Json settings_;
  std::vector<TokenId> prompt_;
  bool is_cut_;
  LlamaOptions options_;
};

// The prompt of a request for the middle of a text.
Request read_infill(Fields& fields, const Service& service) {
  InfillText text;
  if (!fields.has("input_prefix") && !fields.has("input_suffix")) fields.require("input_prefix");
  text.prefix = fields.text("input_prefix").value_or("");
  text.suffix = fields.text("input_suffix").value_or("");
  text.middle = fields.text("prompt").value_or("");
  if (const Json* const files = fields.list("input_extra")) {
    for (size_t i = 0; i < files->size(); ++i) {
      Fields file((*files)[i], fmt::format("input_extra[{}]", i));
      file.require("text");
      text.files.push_back({.name = file.text("filename").value_or(""), .text = file.text("text").value_or("")});
      fields.take(std::move(file.violations()));
    }
  }
  std::optional<std::vector<TokenId>> tokens = infill_tokens(service.engine->tokenizer(), text);
  if (!tokens) throw ApiError(501, "UNSUPPORTED", "this model's vocabulary has no marks for filling in the middle of a text");
  return {.tokens = std::move(*tokens)};
}

enum class LlamaTask { completion, infill };

LlamaOptions read_options(Fields& fields, const Service& service, Request& common) {
  LlamaOptions options;
  const StreamOptions stream = read_stream_options(fields);
  options.streams = stream.streams;
  common.report_progress = stream.with_progress;
  options.returns_tokens = fields.boolean("return_tokens").value_or(false);
  // -1 is llama.cpp's word for any.
  options.slot = std::max<int64_t>(fields.integer("id_slot", -1, service.engine->info().sequences - 1).value_or(0), 0);
  common.cache_prompt = fields.boolean("cache_prompt").value_or(true);
  options.fields = fields.texts("response_fields", kMaxFields);
  for (const std::string& path : options.fields) {
    if (path.find('~') != std::string::npos) fields.violate("response_fields", "must hold names without ~");
  }
  if (const auto value = fields.integer("n_probs", 0, 100)) {
    options.probabilities = *value;
    if (*value > 0) common.params.logprobs = value;
  }
  options.after_sampling = fields.boolean("post_sampling_probs").value_or(false);
  common.params.logprobs_after_sampling = options.after_sampling;
  return options;
}

void completion(Worker& worker, const std::shared_ptr<Slots>& slots, LlamaTask task, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const Json& body = http.json();
  Fields fields(body);
  std::vector<Request> requests;
  if (task == LlamaTask::infill) {
    requests.push_back(read_infill(fields, *service));
  } else {
    fields.require("prompt");
    requests = read_prompts(fields, service->engine->tokenizer(), "prompt", kMaxPrompts, /*parses_special=*/true);
  }
  Request common;
  read_generation(fields, *service, common);
  read_adapters(fields, *service->engine, common.params);
  read_max_tokens(fields, *service, {"n_predict", "max_tokens"}, kUnlimitedTokens, common);
  const LlamaOptions options = read_options(fields, *service, common);
  const std::optional<AnswerFormat> format = read_answer_format(fields);
  fields.check();
  name_user(http, common);
  constrain(*service, format, common);
  common.params.parse_special = true;  // llama.cpp takes control tokens in prompts for what they are
  const auto response = std::make_shared<LlamaResponse>(exchange, options.streams, requests.size());
  std::vector<std::unique_ptr<AnswerWriter>> writers;
  for (Request& request : requests) {
    request = with_prompt_of(common, std::move(request));
    const bool is_cut = fit_into_context(*service->engine, request, false);
    writers.push_back(std::make_unique<LlamaWriter>(response, service, slots, writers.size(), request, is_cut, options));
  }
  try {
    start_answers(worker, service, std::move(requests), exchange, [&](size_t index) { return std::move(writers[index]); });
  } catch (const ApiError& error) {
    response->fail(error);
  }
}

}  // namespace

void add_llama_completion_routes(Router& router, Worker& worker) {
  const auto slots = std::make_shared<Slots>();
  add_slot_routes(router, worker, slots);
  for (const char* path : {"/completion", "/completions", "/infill"}) {
    const LlamaTask task = std::string_view(path) == "/infill" ? LlamaTask::infill : LlamaTask::completion;
    router.add("POST", path, Dialect::llama, [&worker, slots, task](HttpRequest& request, const Exchange& exchange) {
      completion(worker, slots, task, request, exchange);
    });
  }
}

Json default_settings(const Service& service) {
  const Json none = Json::object();
  Fields fields(none);
  Request request;
  read_generation(fields, service, request);
  read_max_tokens(fields, service, {}, kUnlimitedTokens, request);
  return settings_json(service.engine->tokenizer(), request);
}

}  // namespace wick::server
