#include "wick/server/llama_api.h"

#include <algorithm>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/utf8.h"
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

namespace wick::server {
namespace {

// A token alone: as text, or as the bytes of a part of a character.
Json piece_json(const Tokenizer& tokenizer, TokenId token) {
  const std::string bytes = tokenizer.is_control(token) ? std::string(tokenizer.token_text(token)) : tokenizer.token_bytes(token);
  if (is_valid_utf8(bytes)) return bytes;
  Json numbers = Json::array();
  for (const char byte : bytes) numbers.push_back(static_cast<unsigned char>(byte));
  return numbers;
}

void tokenize(Worker& worker, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const Tokenizer& tokenizer = service->engine->tokenizer();
  const Json body = parse_body(http.body);
  Fields fields(body);
  fields.require("content");
  const std::string content = fields.text("content").value_or("");
  const bool add_special = fields.boolean("add_special").value_or(false);
  const bool parse_special = fields.boolean("parse_special").value_or(true);
  const bool with_pieces = fields.boolean("with_pieces").value_or(false);
  fields.check();
  Json tokens = Json::array();
  for (const TokenId token : tokenizer.encode(content, {.add_special = add_special, .parse_special = parse_special})) {
    if (with_pieces) {
      tokens.push_back({{"id", token}, {"piece", piece_json(tokenizer, token)}});
    } else {
      tokens.push_back(token);
    }
  }
  exchange->respond(json_response(200, to_text({{"tokens", std::move(tokens)}})));
}

void detokenize(Worker& worker, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const Json body = parse_body(http.body);
  Fields fields(body);
  fields.require("tokens");
  std::vector<TokenId> tokens;
  if (const Json* const list = fields.list("tokens")) {
    const int32_t size = service->engine->tokenizer().vocab_size();
    for (size_t i = 0; i < list->size(); ++i) {
      const Json& item = (*list)[i];
      const bool is_token = item.is_number_integer() && item.get<int64_t>() >= 0 && item.get<int64_t>() < size;
      if (!is_token) {
        fields.violate_path(fmt::format("tokens[{}]", i), fmt::format("must be a token id from 0 to {}", size - 1), shown(item));
        break;
      }
      tokens.push_back(item.get<TokenId>());
    }
  }
  fields.check();
  exchange->respond(json_response(200, to_text({{"content", service->engine->tokenizer().decode(tokens, false)}})));
}

// As chat_logprob, with the tokens' numbers.
Json llama_logprob(const Tokenizer& tokenizer, const GeneratedLogprob& value) {
  Json json = chat_logprob(tokenizer, value);
  json["id"] = value.chosen.token;
  for (size_t i = 0; i < value.top.size(); ++i) json["top_logprobs"][i]["id"] = value.top[i].token;
  return json;
}

constexpr size_t kMostFields = 64;

struct LlamaOptions {
  int64_t slot = 0;
  bool streams = false;
  bool returns_tokens = false;
  int64_t probabilities = 0;
  std::vector<std::string> fields = {};  // what the answer has; "timings/prompt_n" is a member of a member. Empty: everything
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

Json settings_json(const Request& request) {
  const SamplingParams& sampling = request.params.sampling;
  Json biases = Json::array();
  for (const auto& [token, bias] : sampling.logit_bias) biases.push_back({{"token", token}, {"bias", bias}});
  return {{"seed", sampling.seed ? Json(*sampling.seed) : Json(-1)},
          {"temperature", sampling.temperature},
          {"top_k", sampling.top_k},
          {"top_p", sampling.top_p},
          {"min_p", sampling.min_p},
          {"repeat_penalty", sampling.repetition_penalty},
          {"repeat_last_n", sampling.penalty_window},
          {"presence_penalty", sampling.presence_penalty},
          {"frequency_penalty", sampling.frequency_penalty},
          {"stop", request.params.stop},
          {"n_predict", request.params.max_tokens},
          {"logit_bias", std::move(biases)},
          {"ignore_eos", request.params.ignore_eos}};
}

// llama.cpp's own completion: {"content": …, "stop": …, "timings": …}.
class LlamaWriter final : public AnswerWriter {
 public:
  LlamaWriter(Exchange exchange, std::shared_ptr<Service> service, std::shared_ptr<Slots> slots, const Request& request,
              const LlamaOptions& options)
      : exchange_(std::move(exchange)),
        service_(std::move(service)),
        slots_(std::move(slots)),
        settings_(settings_json(request)),
        prompt_(request.tokens),
        options_(options) {}

  void begin() override {
    if (options_.streams) begin_events(*exchange_);
  }
  void token(const Choice& choice, const TokenEvent& event) override {
    if (!options_.streams) return;
    Json json = {{"index", event.choice}, {"content", event.text}, {"tokens", {event.token}}, {"stop", false}};
    if (event.logprob && options_.probabilities > 0) {
      json["completion_probabilities"] = {llama_logprob(service_->engine->tokenizer(), *event.logprob)};
    }
    json["tokens_predicted"] = choice.tokens.size();
    exchange_->write(json_event(json));
  }
  void complete(const std::vector<Choice>& choices, const PromptEvent&) override {
    const Json json = chosen_fields(last(choices.front()), options_.fields);
    std::vector<TokenId> tokens = std::move(prompt_);
    tokens.insert(tokens.end(), choices.front().tokens.begin(), choices.front().tokens.end());
    slots_->keep(options_.slot, std::move(tokens));
    if (options_.streams) {
      exchange_->write(json_event(json));
      exchange_->end();
    } else {
      exchange_->respond(json_response(200, to_text(json)));
    }
  }
  void fail(const ApiError& error) override {
    if (options_.streams) {
      exchange_->write(event_text(error.body(Dialect::llama), "error"));
      exchange_->end();
    } else {
      exchange_->respond(error.response(Dialect::llama));
    }
  }

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

  Json last(const Choice& choice) const {
    const FinishEvent& finish = choice.finish;
    const Timings& timings = finish.timings;
    const auto prompt = static_cast<double>(finish.usage.prompt_tokens - finish.usage.cached_tokens);
    const auto predicted = static_cast<double>(finish.usage.completion_tokens);
    Json json = {{"index", finish.choice},
                 {"id_slot", options_.slot},
                 {"content", options_.streams ? finish.text : choice.text},
                 {"tokens", Json::array()},
                 {"stop", true},
                 {"model", service_->model_id},
                 {"tokens_predicted", finish.usage.completion_tokens},
                 {"tokens_evaluated", finish.usage.prompt_tokens},
                 {"tokens_cached", finish.usage.cached_tokens},
                 {"generation_settings", settings_},
                 {"truncated", finish.reason == StopReason::context_full},
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
      for (const GeneratedLogprob& value : choice.logprobs) list.push_back(llama_logprob(service_->engine->tokenizer(), value));
    }
    return json;
  }

  Exchange exchange_;
  std::shared_ptr<Service> service_;
  std::shared_ptr<Slots> slots_;
  Json settings_;
  std::vector<TokenId> prompt_;
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

void completion(Worker& worker, const std::shared_ptr<Slots>& slots, LlamaTask task, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const Json body = parse_body(http.body);
  Fields fields(body);
  Request request;
  if (task == LlamaTask::infill) {
    request = read_infill(fields, *service);
  } else {
    fields.require("prompt");
    std::vector<Request> requests = read_prompts(fields, "prompt", 1);
    if (!requests.empty()) request = std::move(requests.front());
  }
  LlamaOptions options;
  read_generation(fields, request);
  read_adapters(fields, *service->engine, request.params);
  read_max_tokens(fields, {"n_predict", "max_tokens"}, kUnlimitedTokens, request);
  options.streams = fields.boolean("stream").value_or(false);
  options.returns_tokens = fields.boolean("return_tokens").value_or(false);
  // -1 is llama.cpp's word for any.
  options.slot = std::max<int64_t>(fields.integer("id_slot", -1, service->engine->info().sequences - 1).value_or(0), 0);
  request.cache_prompt = fields.boolean("cache_prompt").value_or(true);
  options.fields = fields.texts("response_fields", kMostFields);
  for (const std::string& path : options.fields) {
    if (path.find('~') != std::string::npos) fields.violate("response_fields", "must hold names without ~");
  }
  if (const auto value = fields.integer("n_probs", 0, 100)) {
    options.probabilities = *value;
    if (*value > 0) request.params.logprobs = *value;
  }
  const std::optional<AnswerFormat> format = read_answer_format(fields);
  fields.check();
  name_user(http, request);
  constrain(*service, format, request);
  request.params.parse_special = true;  // llama.cpp takes control tokens in prompts for what they are
  fit_into_context(*service->engine, request, false);
  auto writer = std::make_unique<LlamaWriter>(exchange, service, slots, request, options);
  Answer::start(worker, service, std::move(request), exchange, std::move(writer));
}

void props(Worker& worker, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const EngineInfo& info = service->engine->info();
  const Tokenizer& tokenizer = service->engine->tokenizer();
  const auto text_of = [&](std::optional<TokenId> token) { return token ? Json(tokenizer.token_text(*token)) : Json(""); };
  Json settings = settings_json(Request{});
  settings["n_ctx"] = info.context;
  exchange->respond(json_response(200, to_text({{"default_generation_settings", {{"n_ctx", info.context}, {"params", std::move(settings)}}},
                                                {"total_slots", info.sequences},
                                                {"model_alias", service->model_id},
                                                {"model_path", service->path},
                                                {"bos_token", text_of(tokenizer.bos())},
                                                {"eos_token", text_of(tokenizer.eos())},
                                                {"build_info", worker.options().implementation + " " + worker.options().version}})));
}

}  // namespace

void add_llama_routes(Router& router, Worker& worker) {
  const auto add = [&](std::string_view method, std::string_view path, auto handler) {
    router.add(method, path, Dialect::llama,
               [&worker, handler](HttpRequest& request, const Exchange& exchange) { handler(worker, request, exchange); });
  };
  add("POST", "/tokenize", tokenize);
  add("POST", "/detokenize", detokenize);
  const auto slots = std::make_shared<Slots>();
  add_slot_routes(router, worker, slots);
  for (const char* path : {"/completion", "/completions", "/infill"}) {
    const LlamaTask task = std::string_view(path) == "/infill" ? LlamaTask::infill : LlamaTask::completion;
    add("POST", path,
        [slots, task](Worker& own, const HttpRequest& http, const Exchange& exchange) { completion(own, slots, task, http, exchange); });
  }
  add("GET", "/props", [](Worker& own, const HttpRequest&, const Exchange& exchange) { props(own, exchange); });
  const auto cannot = [](const char* what) {
    return [what](Worker&, const HttpRequest&, const Exchange&) { throw ApiError(501, "UNSUPPORTED", what); };
  };
  for (const char* path : {"/rerank", "/reranking", "/v1/rerank", "/v1/reranking"}) {
    add("POST", path, cannot("reranking needs an encoder model, which this version does not run"));
  }
  add("GET", "/lora-adapters", [](Worker& worker, const HttpRequest&, const Exchange& exchange) {
    exchange->respond(json_response(200, to_text(adapters_json(*worker.service()->engine))));
  });
}

}  // namespace wick::server
