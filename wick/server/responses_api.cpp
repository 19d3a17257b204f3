#include "wick/server/responses_api.h"

#include <algorithm>
#include <utility>

#include "wick/server/adapter_fields.h"
#include "wick/server/answer.h"
#include "wick/server/chat_output.h"
#include "wick/server/event_stream.h"
#include "wick/server/generation_fields.h"
#include "wick/server/request_id.h"
#include "wick/server/responses_request.h"

namespace wick::server {
namespace {

// Fields of the request that its response repeats.
Json repeated_fields(const Fields& fields) {
  Json json = Json::object();
  const auto repeat = [&](const char* name, const Json& otherwise) {
    const Json* const value = fields.find(name);
    json[name] = value == nullptr ? otherwise : *value;
  };
  repeat("instructions", nullptr);
  repeat("max_output_tokens", nullptr);
  repeat("metadata", Json::object());
  repeat("parallel_tool_calls", true);
  json["previous_response_id"] = nullptr;
  repeat("reasoning", {{"effort", nullptr}, {"summary", nullptr}});
  json["store"] = false;
  repeat("temperature", nullptr);
  repeat("text", {{"format", {{"type", "text"}}}});
  repeat("tool_choice", "auto");
  repeat("tools", Json::array());
  repeat("top_p", nullptr);
  repeat("truncation", "disabled");
  repeat("user", nullptr);
  return json;
}

// The text that a custom tool is called with; what the model wrote, where it is not the argument that was asked for.
std::string custom_input(const std::string& arguments) {
  const Json parsed = parse_ordered_json(arguments);
  const bool is_text = parsed.is_object() && parsed.contains(kCustomInput) && parsed[kCustomInput].is_string();
  return is_text ? parsed[kCustomInput].get<std::string>() : arguments;
}

// An answer is a list of items: reasoning, a message, calls. What a token adds opens one, adds to it, or closes it for the next.
class ResponseWriter final : public AnswerWriter {
 public:
  ResponseWriter(Exchange exchange, std::shared_ptr<Service> service, const ChatRequest& chat, Json repeated)
      : exchange_(std::move(exchange)),
        service_(std::move(service)),
        repeated_(std::move(repeated)),
        custom_tools_(chat.custom_tools),
        streams_(chat.streams),
        output_(*service_, chat.rendered, chat.chat, chat.uses_tools) {}

  void begin() override {
    if (!streams_) return;
    begin_events(*exchange_);
    send("response.created", {{"response", response("in_progress")}});
    send("response.in_progress", {{"response", response("in_progress")}});
  }
  void prompt(const PromptEvent& event) override { prompt_ = event.usage; }
  void token(const Choice&, const TokenEvent& event) override { take(output_.push(event)); }
  void finish(const Choice&, const FinishEvent& event) override {
    take(output_.finish(event.text));
    // An answer without anything is a message without text.
    if (items_.empty() && !open_) open(ChatPiece::Kind::content, {});
    is_cut_ = event.reason == StopReason::max_tokens || event.reason == StopReason::context_full || event.reason == StopReason::deadline;
    close();
  }

  void complete(const std::vector<Choice>& choices, const PromptEvent&) override {
    const FinishEvent& event = choices.front().finish;
    const char* const status = event.reason == StopReason::cancelled ? "cancelled" : is_cut_ ? "incomplete" : "completed";
    Json json = response(status);
    if (is_cut_) json["incomplete_details"] = {{"reason", "max_output_tokens"}};
    json["usage"] = {{"input_tokens", event.usage.prompt_tokens},
                     {"input_tokens_details", {{"cached_tokens", event.usage.cached_tokens}}},
                     {"output_tokens", event.usage.completion_tokens},
                     {"output_tokens_details", {{"reasoning_tokens", reasoning_tokens_}}},
                     {"total_tokens", event.usage.prompt_tokens + event.usage.completion_tokens}};
    if (!streams_) {
      exchange_->respond(json_response(200, to_text(json)));
      return;
    }
    send(is_cut_ ? "response.incomplete" : "response.completed", {{"response", std::move(json)}});
    exchange_->end();
  }

  void fail(const ApiError& error) override {
    if (!streams_) {
      exchange_->respond(error.response(Dialect::responses));
      return;
    }
    Json json = response("failed");
    json["error"] = {{"code", error.status() == 429 ? "rate_limit_exceeded" : "server_error"}, {"message", error.what()}};
    send("response.failed", {{"response", std::move(json)}});
    exchange_->end();
  }

 private:
  [[nodiscard]] Json response(const char* status) const {
    Json json = {{"id", id_},           {"object", "response"}, {"created_at", created_},        {"status", status},
                 {"background", false}, {"error", nullptr},     {"incomplete_details", nullptr}, {"model", service_->model_id},
                 {"output", items_},    {"usage", nullptr}};
    json.update(repeated_);
    return json;
  }

  void send(const char* type, const Json& data) {
    if (!streams_) return;
    Json json = {{"type", type}, {"sequence_number", sequence_++}};
    json.update(data);
    exchange_->write(json_event(json, type));
  }
  // An event of the item that is open.
  void send_item(const char* type, const Json& data) {
    Json json = {{"output_index", items_.size()}, {"item_id", item_["id"]}};
    json.update(data);
    send(type, json);
  }

  void take(const std::vector<ChatPiece>& pieces) {
    bool reasons = false;
    for (const ChatPiece& piece : pieces) {
      reasons = reasons || piece.kind == ChatPiece::Kind::reasoning;
      const bool is_arguments = piece.kind == ChatPiece::Kind::call_arguments;
      if (!open_ || piece.kind == ChatPiece::Kind::call_begin || (!is_arguments && piece.kind != kind_)) open(piece.kind, piece);
      if (piece.kind != ChatPiece::Kind::call_begin) add(piece.text);
    }
    if (reasons) ++reasoning_tokens_;
  }

  [[nodiscard]] Json part() const {
    if (kind_ == ChatPiece::Kind::reasoning) return {{"type", "reasoning_text"}, {"text", text_}};
    return {{"type", "output_text"}, {"text", text_}, {"annotations", Json::array()}, {"logprobs", Json::array()}};
  }

  void open(ChatPiece::Kind kind, const ChatPiece& piece) {
    close();
    open_ = true;
    kind_ = kind;
    text_.clear();
    is_custom_ = kind == ChatPiece::Kind::call_begin && std::ranges::find(custom_tools_, piece.text) != custom_tools_.end();
    if (is_custom_) {
      item_ = {{"id", random_id("ctc_")}, {"type", "custom_tool_call"}, {"status", "in_progress"},
               {"call_id", piece.id},     {"name", piece.text},         {"input", ""}};
    } else if (kind == ChatPiece::Kind::call_begin) {
      item_ = {{"id", random_id("fc_")}, {"type", "function_call"}, {"status", "in_progress"},
               {"call_id", piece.id},    {"name", piece.text},      {"arguments", ""}};
    } else if (kind == ChatPiece::Kind::reasoning) {
      item_ = {{"id", random_id("rs_")},
               {"type", "reasoning"},
               {"summary", Json::array()},
               {"content", Json::array()},
               {"status", "in_progress"}};
    } else {
      item_ = {
          {"id", random_id("msg_")}, {"type", "message"}, {"status", "in_progress"}, {"role", "assistant"}, {"content", Json::array()}};
    }
    send("response.output_item.added", {{"output_index", items_.size()}, {"item", item_}});
    if (kind != ChatPiece::Kind::call_begin) send_item("response.content_part.added", {{"content_index", 0}, {"part", part()}});
  }

  void add(const std::string& text) {
    text_ += text;
    if (is_custom_) return;  // the text comes out of its argument once that is whole
    if (kind_ == ChatPiece::Kind::call_begin) return send_item("response.function_call_arguments.delta", {{"delta", text}});
    if (kind_ == ChatPiece::Kind::reasoning) {
      return send_item("response.reasoning_text.delta", {{"content_index", 0}, {"delta", text}});
    }
    send_item("response.output_text.delta", {{"content_index", 0}, {"delta", text}, {"logprobs", Json::array()}});
  }

  void close() {
    if (!std::exchange(open_, false)) return;
    if (is_custom_) {
      item_["input"] = custom_input(text_);
      send_item("response.custom_tool_call_input.delta", {{"delta", item_["input"]}});
      send_item("response.custom_tool_call_input.done", {{"input", item_["input"]}});
    } else if (kind_ == ChatPiece::Kind::call_begin) {
      item_["arguments"] = text_;
      send_item("response.function_call_arguments.done", {{"name", item_["name"]}, {"arguments", text_}});
    } else {
      const bool reasons = kind_ == ChatPiece::Kind::reasoning;
      Json done = {{"content_index", 0}, {"text", text_}};
      if (!reasons) done["logprobs"] = Json::array();
      send_item(reasons ? "response.reasoning_text.done" : "response.output_text.done", done);
      send_item("response.content_part.done", {{"content_index", 0}, {"part", part()}});
      item_["content"] = Json::array({part()});
    }
    item_["status"] = is_cut_ ? "incomplete" : "completed";
    send("response.output_item.done", {{"output_index", items_.size()}, {"item", item_}});
    items_.push_back(std::move(item_));
  }

  Exchange exchange_;
  std::shared_ptr<Service> service_;
  Json repeated_;
  std::vector<std::string> custom_tools_;
  bool streams_;
  ChatOutput output_;
  std::string id_ = random_id("resp_");
  int64_t created_ = Worker::unix_time();
  Usage prompt_ = {};
  int64_t sequence_ = 0, reasoning_tokens_ = 0;
  Json items_ = Json::array();
  Json item_;  // that is open, with its text so far
  std::string text_;
  ChatPiece::Kind kind_ = ChatPiece::Kind::content;
  bool open_ = false, is_cut_ = false;
  bool is_custom_ = false;  // the open item is a call of a custom tool
};

// The fields of a body, of which all are right.
ChatRequest read_body(Fields& fields, const Service& service) {
  ChatRequest chat;
  read_responses(fields, service, chat);
  read_adapters(fields, *service.engine, chat.request.params);
  fields.check();
  return chat;
}

void responses(Worker& worker, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const Json& body = http.json();
  Fields fields(body);
  ChatRequest chat = read_body(fields, *service);
  name_user(http, chat.request);
  prepare_chat(*service, chat, fields.has("max_output_tokens"));
  auto writer = std::make_unique<ResponseWriter>(exchange, service, chat, repeated_fields(fields));
  Answer::start(worker, service, std::move(chat.request), exchange, std::move(writer));
}

void count_response_tokens(Worker& worker, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const Json& body = http.json();
  Fields fields(body);
  ChatRequest chat = read_body(fields, *service);
  render_chat(*service, chat);
  exchange->respond(json_response(200, to_text({{"object", "response.input_tokens"}, {"input_tokens", count_tokens(*service, chat)}})));
}

}  // namespace

void add_responses_routes(Router& router, Worker& worker) {
  for (const char* path : {"/v1/responses", "/openai/v1/responses", "/responses"}) {
    router.add("POST", path, Dialect::responses,
               [&worker](HttpRequest& request, const Exchange& exchange) { responses(worker, request, exchange); });
    router.add("POST", std::string(path) + "/input_tokens", Dialect::responses,
               [&worker](HttpRequest& request, const Exchange& exchange) { count_response_tokens(worker, request, exchange); });
  }
}

const Dialect Dialect::responses = {
    .name = "responses",
    .error_json = [](const ApiError& error) { return openai.error_json(error); },
    .stream_end =
        [](const ApiError& error, const std::string& /*body*/) {
          return json_event({{"type", "error"}, {"code", "server_error"}, {"message", error.what()}, {"param", nullptr}}, "error");
        },
    .add_routes = [](Router& router, const ApiParts& parts) { add_responses_routes(router, parts.worker); }};

}  // namespace wick::server
