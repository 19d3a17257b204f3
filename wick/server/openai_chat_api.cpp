#include "wick/server/openai_chat_api.h"

#include <utility>

#include "wick/base/fail.h"
#include "wick/server/adapter_fields.h"
#include "wick/server/chat_output.h"
#include "wick/server/chat_request.h"
#include "wick/server/event_stream.h"
#include "wick/server/generation_fields.h"
#include "wick/server/logprobs_json.h"
#include "wick/server/request_id.h"
#include "wick/server/usage_json.h"

namespace wick::server {
namespace {

constexpr int64_t kMaxChatChoices = 128;
constexpr int64_t kMaxChatLogprobs = 20;

struct ChatSettings {
  StreamOptions stream;
  bool parses_tools = false, has_logprobs = false;
};

Json call_json(const ChatOutput::Call& call) {
  return {{"id", call.id}, {"type", "function"}, {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
}

// Why a choice ended: a tool call is a reason of its own.
std::string_view reason_of(const ChatOutput& output, const FinishEvent& event) {
  const std::string_view reason = finish_reason(event.reason);
  return reason == "stop" && !output.calls().empty() ? "tool_calls" : reason;
}

class ChatWriter final : public AnswerWriter {
 public:
  ChatWriter(Exchange exchange, std::shared_ptr<Service> service, const ChatSettings& options, const ChatRequest& chat)
      : exchange_(std::move(exchange)), service_(std::move(service)), options_(options) {
    for (int64_t i = 0; i < chat.request.n; ++i) {
      outputs_.emplace_back(*service_, chat.rendered, chat.chat, options.parses_tools);
    }
  }

  void begin() override {
    if (options_.stream.streams) begin_events(*exchange_);
  }

  void progress(const ProgressEvent& event) override {
    Json json = chunk(0, Json::object(), nullptr, nullptr);
    json["prompt_progress"] = progress_json(event);
    exchange_->write(json_event(json));
  }

  void prompt(const PromptEvent&) override {
    if (!options_.stream.streams) return;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      send(static_cast<int64_t>(i), {{"role", "assistant"}, {"content", ""}}, nullptr, nullptr);
    }
  }

  void token(const Choice&, const TokenEvent& event) override {
    Json logprobs = nullptr;
    if (options_.has_logprobs && event.logprob) {
      logprobs = {{"content", {chat_logprob(service_->engine->tokenizer(), *event.logprob)}}, {"refusal", nullptr}};
    }
    send_pieces(event.choice, outputs_[static_cast<size_t>(event.choice)].push(event), std::move(logprobs));
  }

  void finish(const Choice&, const FinishEvent& event) override {
    ChatOutput& output = outputs_[static_cast<size_t>(event.choice)];
    send_pieces(event.choice, output.finish(event.text), nullptr);
    if (options_.stream.streams) send(event.choice, Json::object(), nullptr, reason_of(output, event));
  }

  void complete(const std::vector<Choice>& choices, const PromptEvent&) override {
    if (!options_.stream.streams) {
      respond(choices);
      return;
    }
    if (options_.stream.with_usage) {
      Json json = head("chat.completion.chunk");
      json["choices"] = Json::array();
      json["usage"] = usage_json(choices);
      exchange_->write(json_event(json));
    }
    exchange_->write(event_text(std::string_view("[DONE]")));
    exchange_->end();
  }

  void fail(const ApiError& error) override {
    if (!options_.stream.streams) {
      exchange_->respond(error.response(Dialect::openai));
      return;
    }
    exchange_->write(error.stream_end(Dialect::openai));
    exchange_->end();
  }

 private:
  [[nodiscard]] Json head(const char* object) const {
    return {{"id", id_}, {"object", object}, {"created", created_}, {"model", service_->model_id}, {"system_fingerprint", nullptr}};
  }

  [[nodiscard]] Json chunk(int64_t choice, Json delta, Json logprobs, Json reason) const {
    Json json = head("chat.completion.chunk");
    json["choices"] = {
        {{"index", choice}, {"delta", std::move(delta)}, {"logprobs", std::move(logprobs)}, {"finish_reason", std::move(reason)}}};
    if (options_.stream.with_usage) json["usage"] = nullptr;
    return json;
  }

  void send(int64_t choice, Json delta, Json logprobs, Json reason) {
    exchange_->write(json_event(chunk(choice, std::move(delta), std::move(logprobs), std::move(reason))));
  }

  // The first delta that a token leads to carries its logprob.
  void send_pieces(int64_t choice, const std::vector<ChatPiece>& pieces, Json logprobs) {
    if (!options_.stream.streams) return;
    for (const ChatPiece& piece : pieces) send(choice, delta_json(piece), std::exchange(logprobs, nullptr), nullptr);
    if (!logprobs.is_null()) send(choice, Json::object(), std::move(logprobs), nullptr);
  }

  static Json delta_json(const ChatPiece& piece) {
    switch (piece.kind) {
      case ChatPiece::Kind::content: return {{"content", piece.text}};
      case ChatPiece::Kind::reasoning: return {{"reasoning_content", piece.text}};
      case ChatPiece::Kind::call_begin:
        return {
            {"tool_calls",
             {{{"index", piece.call}, {"id", piece.id}, {"type", "function"}, {"function", {{"name", piece.text}, {"arguments", ""}}}}}}};
      case ChatPiece::Kind::call_arguments: return {{"tool_calls", {{{"index", piece.call}, {"function", {{"arguments", piece.text}}}}}}};
    }
    return Json::object();
  }

  void respond(const std::vector<Choice>& choices) {
    Json list = Json::array();
    for (size_t i = 0; i < choices.size(); ++i) list.push_back(choice_json(outputs_[i], choices[i], i));
    Json json = head("chat.completion");
    json["choices"] = std::move(list);
    json["usage"] = usage_json(choices);
    exchange_->respond(json_response(200, to_text(json)));
  }

  [[nodiscard]] Json choice_json(const ChatOutput& output, const Choice& choice, size_t index) const {
    Json message = {{"role", "assistant"}, {"content", output.content()}, {"refusal", nullptr}};
    if (!output.reasoning().empty()) message["reasoning_content"] = output.reasoning();
    if (!output.calls().empty()) {
      if (output.content().empty()) message["content"] = nullptr;
      Json& calls = message["tool_calls"] = Json::array();
      for (const ChatOutput::Call& call : output.calls()) calls.push_back(call_json(call));
    }
    Json logprobs = nullptr;
    if (options_.has_logprobs) {
      Json values = Json::array();
      for (const GeneratedLogprob& value : choice.logprobs) values.push_back(chat_logprob(service_->engine->tokenizer(), value));
      logprobs = {{"content", std::move(values)}, {"refusal", nullptr}};
    }
    return {{"index", index},
            {"message", std::move(message)},
            {"logprobs", std::move(logprobs)},
            {"finish_reason", reason_of(output, choice.finish)}};
  }

  Exchange exchange_;
  std::shared_ptr<Service> service_;
  ChatSettings options_;
  std::vector<ChatOutput> outputs_;
  std::string id_ = random_id("chatcmpl-");
  int64_t created_ = Worker::unix_time();
};

void read_chat_settings(Fields& fields, Request& request, ChatSettings& options) {
  options.stream = read_stream_options(fields);
  request.report_progress = options.stream.with_progress;
  if (const auto value = fields.integer("n", 1, kMaxChatChoices)) request.n = *value;
  options.has_logprobs = fields.boolean("logprobs").value_or(false);
  if (options.has_logprobs) request.params.logprobs = 0;
  if (const auto value = fields.integer("top_logprobs", 0, kMaxChatLogprobs)) {
    if (!options.has_logprobs) fields.violate("top_logprobs", "needs logprobs: true");
    request.params.logprobs = value;
  }
}

void chat_completions(Worker& worker, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const Json& body = http.json();
  Fields fields(body);
  ChatRequest chat;
  ChatSettings options;
  read_openai_chat(fields, chat);
  read_generation(fields, *service, chat.request);
  read_adapters(fields, *service->engine, chat.request.params);
  read_max_tokens(fields, *service, {"max_tokens", "max_completion_tokens"}, kUnlimitedTokens, chat.request);
  read_chat_settings(fields, chat.request, options);
  options.parses_tools = chat.uses_tools;
  fields.check();
  name_user(http, chat.request);
  prepare_chat(*service, chat, fields.has("max_tokens") || fields.has("max_completion_tokens"));
  auto writer = std::make_unique<ChatWriter>(exchange, service, options, chat);
  Answer::start(worker, service, std::move(chat.request), exchange, std::move(writer));
}

// The conversation of a request that asks for no answer.
ChatRequest rendered_chat(const Service& service, const HttpRequest& http) {
  const Json& body = http.json();
  Fields fields(body);
  ChatRequest chat;
  read_openai_chat(fields, chat);
  fields.check();
  render_chat(service, chat);
  return chat;
}

void apply_template(Worker& worker, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const ChatRequest chat = rendered_chat(*service, http);
  std::string_view text = chat.rendered;
  // What is then sent as a prompt gets its BOS there.
  const Tokenizer& tokenizer = service->engine->tokenizer();
  if (tokenizer.adds_bos() && !chat.chat.bos_token.empty() && text.starts_with(chat.chat.bos_token)) {
    text.remove_prefix(chat.chat.bos_token.size());
  }
  exchange->respond(json_response(200, to_text({{"prompt", text}})));
}

void count_chat_tokens(Worker& worker, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const ChatRequest chat = rendered_chat(*service, http);
  exchange->respond(json_response(200, to_text({{"input_tokens", count_tokens(*service, chat)}})));
}

}  // namespace

void add_openai_chat_routes(Router& router, Worker& worker) {
  for (const char* path : {"/v1/chat/completions", "/openai/v1/chat/completions", "/chat/completions"}) {
    router.add("POST", path, Dialect::openai,
               [&worker](HttpRequest& request, const Exchange& exchange) { chat_completions(worker, request, exchange); });
    router.add("POST", std::string(path) + "/input_tokens", Dialect::openai,
               [&worker](HttpRequest& request, const Exchange& exchange) { count_chat_tokens(worker, request, exchange); });
  }
  router.add("POST", "/apply-template", Dialect::llama,
             [&worker](HttpRequest& request, const Exchange& exchange) { apply_template(worker, request, exchange); });
}

}  // namespace wick::server
