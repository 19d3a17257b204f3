#include "wick/server/llama_completion.h"

#include <algorithm>
#include <utility>

#include "wick/base/fail.h"
#include "wick/server/adapter_fields.h"
#include "wick/server/answer_format.h"
#include "wick/server/generation_fields.h"
#include "wick/server/infill.h"
#include "wick/server/llama_answer.h"
#include "wick/server/prompt_length.h"
#include "wick/server/prompts.h"

namespace wick::server {
namespace {

constexpr size_t kMaxFields = 64;

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
    writers.push_back(llama_writer(response, service, slots, {.index = writers.size(), .request = request, .is_cut = is_cut}, options));
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
  return llama_settings(service.engine->tokenizer(), request);
}

}  // namespace wick::server
