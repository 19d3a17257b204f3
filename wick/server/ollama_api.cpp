// Ollama's API: /api/generate, /api/chat, /api/embed, /api/tags, /api/show, /api/version.
#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "wick/base/fail.h"
#include "wick/server/adapter_fields.h"
#include "wick/server/answer.h"
#include "wick/server/answer_format.h"
#include "wick/server/chat_output.h"
#include "wick/server/chat_request.h"
#include "wick/server/dialect.h"
#include "wick/server/embeddings_api.h"
#include "wick/server/generation_fields.h"
#include "wick/server/prompt_length.h"
#include "wick/server/router.h"
#include "wick/server/utc_time.h"
#include "wick/server/worker.h"

namespace wick::server {
namespace {

Json ollama_error(const ApiError& error) { return {{"error", error.what()}}; }

// A line of a stream of JSON.
std::string ollama_stream_end(const ApiError& /*error*/, const std::string& body) { return body + "\n"; }

int64_t nanoseconds(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

// One JSON object a line, or one for all: /api/chat has messages, /api/generate a response.
class OllamaWriter final : public AnswerWriter {
 public:
  OllamaWriter(Exchange exchange, std::shared_ptr<Service> service, const ChatRequest& request, bool is_chat)
      : exchange_(std::move(exchange)),
        service_(std::move(service)),
        streams_(request.streams),
        is_chat_(is_chat),
        output_(*service_, request.rendered, request.chat, request.uses_tools) {}

  void begin() override {
    if (streams_) exchange_->begin(200, {{"Content-Type", "application/x-ndjson"}, {"Cache-Control", "no-cache"}}, "");
  }
  void token(const Choice&, const TokenEvent& event) override { send(output_.push(event)); }
  void finish(const Choice&, const FinishEvent& event) override { send(output_.finish(event.text)); }

  void complete(const std::vector<Choice>& choices, const PromptEvent&) override {
    Json json = head(streams_ ? "" : output_.content(), streams_ ? "" : output_.reasoning());
    if (is_chat_ && !output_.calls().empty()) json["message"]["tool_calls"] = calls();
    const FinishEvent& finish = choices.front().finish;
    const Timings& timings = finish.timings;
    json["done"] = true;
    json["done_reason"] = finish.reason == StopReason::max_tokens || finish.reason == StopReason::context_full ? "length" : "stop";
    json["total_duration"] = nanoseconds(timings.queued + timings.prefill + timings.decode);
    json["load_duration"] = 0;
    json["prompt_eval_count"] = finish.usage.prompt_tokens;
    json["prompt_eval_duration"] = nanoseconds(timings.prefill);
    json["eval_count"] = finish.usage.completion_tokens;
    json["eval_duration"] = nanoseconds(timings.decode);
    if (!streams_) {
      exchange_->respond(json_response(200, to_text(json)));
      return;
    }
    exchange_->write(to_text(json) + "\n");
    exchange_->end();
  }

  void fail(const ApiError& error) override {
    if (!streams_) {
      exchange_->respond(error.response(Dialect::ollama));
      return;
    }
    exchange_->write(error.stream_end(Dialect::ollama));
    exchange_->end();
  }

 private:
  [[nodiscard]] Json head(const std::string& content, const std::string& thinking) const {
    Json json = {{"model", service_->model_id}, {"created_at", utc_seconds(Worker::unix_time())}};
    if (is_chat_) {
      json["message"] = {{"role", "assistant"}, {"content", content}};
      if (!thinking.empty()) json["message"]["thinking"] = thinking;
    } else {
      json["response"] = content;
      if (!thinking.empty()) json["thinking"] = thinking;
    }
    json["done"] = false;
    return json;
  }

  [[nodiscard]] Json calls() const {
    Json list = Json::array();
    for (const ChatOutput::Call& call : output_.calls()) {
      list.push_back({{"function", {{"name", call.name}, {"arguments", call.parsed_arguments()}}}});
    }
    return list;
  }

  void send(const std::vector<ChatPiece>& pieces) {
    if (!streams_) return;
    for (const ChatPiece& piece : pieces) {
      if (piece.kind == ChatPiece::Kind::content) exchange_->write(to_text(head(piece.text, "")) + "\n");
      if (piece.kind == ChatPiece::Kind::reasoning) exchange_->write(to_text(head("", piece.text)) + "\n");
    }
  }

  Exchange exchange_;
  std::shared_ptr<Service> service_;
  bool streams_, is_chat_;
  ChatOutput output_;
};

// Whether to reason, or how much: "high", "medium" or "low".
void read_think(Fields& fields, ChatRequest& chat) {
  const Json* const think = fields.find("think");
  if (think == nullptr) return;
  if (think->is_boolean()) {
    chat.chat.variables = to_text({{"enable_thinking", *think}});
  } else if (think->is_string()) {
    chat.chat.variables = to_text({{"enable_thinking", true}, {"reasoning_effort", *think}});
  } else {
    fields.violate("think", "must be true, false, or how much: a text");
  }
}

void read_ollama_options(Fields& fields, const Service& service, ChatRequest& chat) {
  static const Json kNone = Json::object();
  const Json* const given = fields.object("options");
  Fields options(given == nullptr ? kNone : *given, "options");
  read_generation(options, service, chat.request);
  read_max_tokens(options, service, {"num_predict"}, kUnlimitedTokens, chat.request);
  fields.take(std::move(options.violations()));
  chat.streams = fields.boolean("stream").value_or(true);
  read_think(fields, chat);
}

// A request without a prompt, or without messages, loads the model, which is loaded here.
void answer_loaded(const Service& service, bool is_chat, const Exchange& exchange) {
  Json json = {{"model", service.model_id}, {"created_at", utc_seconds(Worker::unix_time())}};
  if (is_chat) {
    json["message"] = {{"role", "assistant"}, {"content", ""}};
  } else {
    json["response"] = "";
  }
  json["done"] = true;
  json["done_reason"] = "load";
  exchange->respond(json_response(200, to_text(json)));
}

void ollama_chat(Worker& worker, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const Json& body = http.json();
  Fields fields(body);
  if (const Json* const messages = fields.find("messages"); messages == nullptr || (messages->is_array() && messages->empty())) {
    fields.check();
    return answer_loaded(*service, true, exchange);
  }
  ChatRequest chat;
  read_openai_chat(fields, chat);
  read_ollama_options(fields, *service, chat);
  read_adapters(fields, *service->engine, chat.request.params);
  fields.check();
  name_user(http, chat.request);
  prepare_chat(*service, chat, false);
  auto writer = std::make_unique<OllamaWriter>(exchange, service, chat, true);
  Answer::start(worker, service, std::move(chat.request), exchange, std::move(writer));
}

void ollama_generate(Worker& worker, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const Json& body = http.json();
  Fields fields(body);
  ChatRequest chat;
  const std::string prompt = fields.text("prompt").value_or("");
  const bool is_raw = fields.boolean("raw").value_or(false) || !service->chat_template;
  const std::string system = fields.text("system").value_or("");
  refuse_pictures(fields);
  if (!fields.text("suffix").value_or("").empty()) fields.violate("suffix", "is not supported; /infill fills in the middle of a text");
  read_ollama_options(fields, *service, chat);
  read_adapters(fields, *service->engine, chat.request.params);
  chat.answer = read_answer_format(fields);
  fields.check();
  if (prompt.empty()) return answer_loaded(*service, false, exchange);
  name_user(http, chat.request);
  if (is_raw) {
    constrain(*service, chat.answer, chat.request);
    chat.rendered = chat.request.prompt = prompt;
    fit_into_context(*service->engine, chat.request, false);
  } else {
    if (!system.empty()) chat.chat.messages.push_back({.role = "system", .content = system});
    chat.chat.messages.push_back({.role = "user", .content = prompt});
    prepare_chat(*service, chat, false);
  }
  auto writer = std::make_unique<OllamaWriter>(exchange, service, chat, false);
  Answer::start(worker, service, std::move(chat.request), exchange, std::move(writer));
}

Json details_json(const EngineInfo& info) {
  return {{"parent_model", ""},
          {"format", "gguf"},
          {"family", info.architecture},
          {"families", {info.architecture}},
          {"parameter_size", fmt::format("{:.1f}M", static_cast<double>(info.parameters) / 1e6)},
          {"quantization_level", ""}};
}

// The models that there are (/api/tags), or those that are in memory (/api/ps): the one.
void list_models(Worker& worker, bool loaded, const Exchange& exchange) {
  Json models = Json::array();
  if (const std::shared_ptr<Service> service = worker.service_if_ready()) {
    const EngineInfo& info = service->engine->info();
    Json model = {{"name", service->model_id},
                  {"model", service->model_id},
                  {"size", info.file_bytes},
                  {"digest", ""},
                  {"details", details_json(info)}};
    if (loaded) {
      model["expires_at"] = "0001-01-01T00:00:00Z";  // never, in Go's words
      model["size_vram"] = worker.options().device.starts_with("cpu") ? 0 : info.file_bytes;
      model["context_length"] = info.context;
    } else {
      model["modified_at"] = utc_seconds(service->created);
    }
    models.push_back(std::move(model));
  }
  exchange->respond(json_response(200, to_text({{"models", std::move(models)}})));
}

void ollama_show(Worker& worker, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const EngineInfo& info = service->engine->info();
  Json capabilities = {"completion"};
  if (service->chat_template && service->chat_template->takes_tools()) capabilities.push_back("tools");
  exchange->respond(json_response(200, to_text({{"modelfile", ""},
                                                {"template", service->chat_template ? service->chat_template->source() : ""},
                                                {"details", details_json(info)},
                                                {"model_info",
                                                 {{"general.architecture", info.architecture},
                                                  {"general.parameter_count", info.parameters},
                                                  {info.architecture + ".context_length", info.model_context}}},
                                                {"capabilities", std::move(capabilities)}})));
}

void add_ollama_routes(Router& router, const ApiParts& parts) {
  Worker& worker = parts.worker;
  const auto add = [&](std::string_view method, std::string_view path, auto handler) {
    router.add(method, path, Dialect::ollama,
               [&worker, handler](HttpRequest& request, const Exchange& exchange) { handler(worker, request, exchange); });
  };
  add("POST", "/api/chat", ollama_chat);
  add("POST", "/api/generate", ollama_generate);
  add("GET", "/api/tags", [](Worker& own, const HttpRequest&, const Exchange& exchange) { list_models(own, false, exchange); });
  add("GET", "/api/ps", [](Worker& own, const HttpRequest&, const Exchange& exchange) { list_models(own, true, exchange); });
  add("POST", "/api/show", [](Worker& own, const HttpRequest&, const Exchange& exchange) { ollama_show(own, exchange); });
  add("GET", "/api/version", [](Worker& own, const HttpRequest&, const Exchange& exchange) {
    exchange->respond(json_response(200, to_text({{"version", own.options().version}})));
  });
  add_ollama_embedding_routes(router, worker);
}

}  // namespace

const Dialect Dialect::ollama = {
    .name = "ollama", .error_json = ollama_error, .stream_end = ollama_stream_end, .add_routes = add_ollama_routes};

}  // namespace wick::server
