#include "wick/server/llama_answer.h"

#include <cmath>
#include <utility>

#include "wick/base/fail.h"
#include "wick/engine/sampling.h"
#include "wick/server/event_stream.h"
#include "wick/server/generation_fields.h"
#include "wick/server/logprobs_json.h"
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

class LlamaWriter final : public AnswerWriter {
 public:
  LlamaWriter(std::shared_ptr<LlamaResponse> response, std::shared_ptr<Service> service, std::shared_ptr<Slots> slots,
              const LlamaPrompt& prompt, LlamaOptions options)
      : response_(std::move(response)),
        service_(std::move(service)),
        slots_(std::move(slots)),
        index_(prompt.index),
        settings_(llama_settings(service_->engine->tokenizer(), prompt.request)),
        prompt_(prompt.request.tokens),
        is_cut_(prompt.is_cut),
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

}  // namespace

void LlamaResponse::begin() {
  const std::scoped_lock lock(mutex_);
  if (!std::exchange(has_begun_, true) && streams_) begin_events(*exchange_);
}

void LlamaResponse::piece(const Json& json) {
  if (streams_) exchange_->write(json_event(json));
}

void LlamaResponse::complete(size_t prompt, Json json) {
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

void LlamaResponse::fail(const ApiError& error) {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(failed_, true)) return;
  if (streams_ && has_begun_) {
    exchange_->write(error.stream_end(Dialect::llama));
    exchange_->end();
  } else {
    exchange_->respond(error.response(Dialect::llama));
  }
}

Json llama_settings(const Tokenizer& tokenizer, const Request& request) {
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

std::unique_ptr<AnswerWriter> llama_writer(std::shared_ptr<LlamaResponse> response, std::shared_ptr<Service> service,
                                           std::shared_ptr<Slots> slots, const LlamaPrompt& prompt, LlamaOptions options) {
  return std::make_unique<LlamaWriter>(std::move(response), std::move(service), std::move(slots), prompt, std::move(options));
}

}  // namespace wick::server
