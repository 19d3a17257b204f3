#include "wick/server/anthropic_api.h"

#include <utility>

#include "wick/base/fail.h"
#include "wick/base/log.h"
#include "wick/server/adapter_fields.h"
#include "wick/server/answer.h"
#include "wick/server/answer_format.h"
#include "wick/server/chat_output.h"
#include "wick/server/chat_request.h"
#include "wick/server/event_stream.h"
#include "wick/server/generation_fields.h"
#include "wick/server/request_id.h"

namespace wick::server {
namespace {

std::string block_type(const Json& block) {
  return block.is_object() && block.contains("type") && block["type"].is_string() ? block["type"].get<std::string>() : std::string();
}

std::string document_text(Fields& block, const std::string& path);

// The text of a block list, or of a text: of a tool's result, say.
std::string text_of_blocks(Fields& fields, const Json& content, const std::string& path) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  if (!content.is_array()) {
    fields.violate_path(path, "must be a text or a list of blocks", shown(content));
    return text;
  }
  for (size_t i = 0; i < content.size(); ++i) {
    if (block_type(content[i]) == "text" && content[i].contains("text") && content[i]["text"].is_string()) {
      text += content[i]["text"].get<std::string>();
    } else if (block_type(content[i]) == "document") {
      const std::string inner = fmt::format("{}[{}]", path, i);
      Fields members(content[i], inner);
      text += document_text(members, inner);
      fields.take(std::move(members.violations()));
    } else {
      fields.violate_path(fmt::format("{}[{}]", path, i), "must be a text block: this model reads text only", shown(content[i]));
    }
  }
  return text;
}

// The text of a document that is plain text; of others nothing can be read.
std::string document_text(Fields& block, const std::string& path) {
  block.require("source");
  const Json* const source = block.object("source");
  if (source == nullptr) return "";
  Fields members(*source, path + ".source");
  const std::string type = members.text("type").value_or("");
  std::string text;
  for (const char* name : {"title", "context"}) {
    if (const auto value = block.text(name); value && !value->empty()) text += *value + "\n";
  }
  if (type == "text") {
    members.require("data");
    text += members.text("data").value_or("");
  } else if (type == "content") {
    const Json* const content = members.find("content");
    text += content == nullptr ? "" : text_of_blocks(members, *content, path + ".source.content");
  } else {
    members.violate("type", "must be text or content: this model reads documents of plain text only");
  }
  block.take(std::move(members.violations()));
  return text;
}

// Calls of the API's own tools (web search and the like) and their results, in conversations that began elsewhere.
bool is_of_server_tool(std::string_view type) {
  return type == "server_tool_use" || (type.ends_with("_tool_result") && type != "tool_result");
}

// One block of a message: text and calls go into `message`, results of tools become messages of their own.
void read_block(Fields& fields, const Json& block, const std::string& path, ChatMessage& message, std::vector<ChatMessage>& results) {
  const std::string type = block_type(block);
  Fields members(block, path);
  if (type == "text") {
    members.require("text");
    message.content = message.content.value_or("") + members.text("text").value_or("");
  } else if (type == "thinking") {
    message.reasoning += members.text("thinking").value_or("");
  } else if (type == "redacted_thinking") {
    // Its text is not ours to read.
  } else if (type == "document") {
    message.content = message.content.value_or("") + document_text(members, path);
  } else if (is_of_server_tool(type)) {
    log_warning("{}: {} is left out: this server has no tools of its own", path, type);
  } else if (type == "tool_use") {
    members.require("name");
    const Json* const input = members.object("input");
    message.tool_calls.push_back({.id = members.text("id").value_or(""),
                                  .name = members.text("name").value_or(""),
                                  .arguments = input == nullptr ? "{}" : to_text(*input)});
  } else if (type == "tool_result") {
    const Json* const content = members.find("content");
    results.push_back({.role = "tool",
                       .content = content == nullptr ? "" : text_of_blocks(members, *content, path + ".content"),
                       .tool_call_id = members.text("tool_use_id").value_or("")});
  } else {
    members.violate_path(path + ".type", "must be text, document, thinking, tool_use or tool_result: this model reads text only", type);
  }
  fields.take(std::move(members.violations()));
}

void read_block_message(Fields& fields, const Json& json, const std::string& path, std::vector<ChatMessage>& messages) {
  Fields members(json, path);
  ChatMessage message;
  if (members.require("role")) {
    message.role = members.text("role").value_or("");
    if (message.role != "user" && message.role != "assistant" && message.role != "system") {
      members.violate("role", "must be user or assistant");
    }
  }
  std::vector<ChatMessage> results;
  if (members.find("content") == nullptr && message.role == "assistant") {
    message.content = "";
  } else if (members.require("content")) {
    const Json& content = *members.find("content");
    if (content.is_string()) {
      message.content = content.get<std::string>();
    } else if (content.is_array()) {
      for (size_t i = 0; i < content.size(); ++i) {
        read_block(members, content[i], fmt::format("{}.content[{}]", path, i), message, results);
      }
    } else {
      members.violate("content", "must be a text or a list of blocks");
    }
  }
  fields.take(std::move(members.violations()));
  const bool only_results = !results.empty() && !message.content && message.tool_calls.empty();
  // Of calls alone too: this API knows no message without a text, and templates look into it.
  if (!message.content) message.content = "";
  for (ChatMessage& result : results) messages.push_back(std::move(result));
  if (!only_results) messages.push_back(std::move(message));
}

// A tool that Anthropic's servers would run has a type of its own ("web_search_20250305"); one of the client's has none, or "custom".
std::optional<Json> read_named_tool(Fields& tool) {
  if (const std::string type = tool.text("type").value_or("custom"); type != "custom") {
    log_warning("the tool {} ({}) is left out: this server has no tools of its own", tool.text("name").value_or(type), type);
    return std::nullopt;
  }
  Json function = {{"name", read_function_name(tool)}, {"description", tool.text("description").value_or("")}};
  const Json* const schema = tool.object("input_schema");
  function["parameters"] = schema == nullptr ? Json::object() : *schema;
  if (const auto strict = tool.boolean("strict")) function["strict"] = *strict;
  return function;
}

// {"type": "auto"}, any, none, or {"type": "tool", "name": …}; with disable_parallel_tool_use one call at most.
void read_choice(Fields& fields, ChatRequest& chat) {
  const Json* const choice = fields.object("tool_choice");
  if (choice == nullptr) return;
  Fields members(*choice, "tool_choice");
  const std::string type = members.text("type").value_or("");
  if (type != "auto" && type != "any" && type != "none" && type != "tool") members.violate("type", "must be auto, any, tool or none");
  if (type == "tool") members.require("name");
  const std::string name = type == "tool" ? members.text("name").value_or("") : "";
  chat.parallel_calls = !members.boolean("disable_parallel_tool_use").value_or(false);
  fields.take(std::move(members.violations()));
  choose_tool(fields, type == "any" || type == "tool" ? "required" : type == "none" ? "none" : "auto", name, chat);
}

// Beside Anthropic's own name, the one that it has in output_config.
void read_output_format(Fields& fields, ChatRequest& chat) {
  chat.answer = read_named_format(fields, "output_format");
  if (const Json* const config = fields.object("output_config"); config != nullptr && !chat.answer) {
    Fields members(*config, "output_config");
    chat.answer = read_named_format(members, "format");
    fields.take(std::move(members.violations()));
  }
}

// The system blocks without the one that Claude Code sends for Anthropic's accounting: it has another hash in each request, so that no
// two prompts would have the same beginning.
Json without_billing_header(const Json& system) {
  constexpr std::string_view kHeader = "x-anthropic-billing-header:";
  const auto is_header = [&](const Json& text) { return text.is_string() && text.get_ref<const std::string&>().starts_with(kHeader); };
  if (is_header(system)) return Json::array();
  if (!system.is_array()) return system;
  Json kept = Json::array();
  for (const Json& block : system) {
    if (block_type(block) != "text" || !block.contains("text") || !is_header(block["text"])) kept.push_back(block);
  }
  return kept;
}

void read_chat(Fields& fields, ChatRequest& chat) {
  if (const Json* const system = fields.find("system")) {
    std::string text = text_of_blocks(fields, without_billing_header(*system), "system");
    if (!text.empty()) chat.chat.messages.push_back({.role = "system", .content = std::move(text)});
  }
  read_messages(fields,
                [&](const Json& message, const std::string& path) { read_block_message(fields, message, path, chat.chat.messages); });
  // An answer that has been begun for the model.
  continue_last_message({}, chat);
  read_flat_tools(fields, chat, read_named_tool);
  read_choice(fields, chat);
  read_output_format(fields, chat);
  if (const Json* const thinking = fields.object("thinking")) {
    Fields members(*thinking, "thinking");
    const std::string type = members.text("type").value_or("");
    // "adaptive" leaves it to the model, as a request without this field does.
    if (type == "enabled" || type == "disabled") {
      chat.chat.variables = to_text({{"enable_thinking", type == "enabled"}});
    } else if (type != "adaptive") {
      members.violate("type", "must be enabled, disabled or adaptive");
    }
    fields.take(std::move(members.violations()));
  }
}

Json stop_reason(const ChatOutput& output, const FinishEvent& event) {
  switch (event.reason) {
    case StopReason::end_of_sequence: return output.calls().empty() ? "end_turn" : "tool_use";
    case StopReason::stop_sequence: return "stop_sequence";
    case StopReason::max_tokens:
    case StopReason::context_full: return "max_tokens";
    case StopReason::cancelled:
    case StopReason::deadline: return "pause_turn";
  }
  return nullptr;
}

class MessageWriter final : public AnswerWriter {
 public:
  MessageWriter(Exchange exchange, std::shared_ptr<Service> service, const ChatRequest& chat)
      : exchange_(std::move(exchange)),
        service_(std::move(service)),
        streams_(chat.streams),
        output_(*service_, chat.rendered, chat.chat, chat.uses_tools) {}

  void begin() override {
    if (streams_) begin_events(*exchange_);
  }

  void prompt(const PromptEvent& event) override {
    if (!streams_) return;
    Json message = this->message();
    message["usage"] = usage(event.usage, 0);
    send("message_start", {{"type", "message_start"}, {"message", std::move(message)}});
  }

  void token(const Choice&, const TokenEvent& event) override { send_pieces(output_.push(event)); }

  void finish(const Choice&, const FinishEvent& event) override {
    send_pieces(output_.finish(event.text));
    if (!streams_) return;
    close_block();
    send("message_delta", {{"type", "message_delta"},
                           {"delta", {{"stop_reason", stop_reason(output_, event)}, {"stop_sequence", matched(event)}}},
                           {"usage", usage(event.usage, event.usage.completion_tokens)}});
    send("message_stop", {{"type", "message_stop"}});
  }

  void complete(const std::vector<Choice>& choices, const PromptEvent&) override {
    if (streams_) {
      exchange_->end();
      return;
    }
    const FinishEvent& event = choices.front().finish;
    Json json = message();
    Json& content = json["content"];
    if (!output_.reasoning().empty()) content.push_back({{"type", "thinking"}, {"thinking", output_.reasoning()}, {"signature", ""}});
    if (!output_.content().empty() || (output_.calls().empty() && content.empty())) {
      content.push_back({{"type", "text"}, {"text", output_.content()}});
    }
    for (const ChatOutput::Call& call : output_.calls()) {
      content.push_back({{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", call.parsed_arguments()}});
    }
    json["stop_reason"] = stop_reason(output_, event);
    json["stop_sequence"] = matched(event);
    json["usage"] = usage(event.usage, event.usage.completion_tokens);
    exchange_->respond(json_response(200, to_text(json)));
  }

  void fail(const ApiError& error) override {
    if (!streams_) {
      exchange_->respond(error.response(Dialect::anthropic));
      return;
    }
    exchange_->write(event_text(error.body(Dialect::anthropic), "error"));
    exchange_->end();
  }

 private:
  static Json matched(const FinishEvent& event) { return event.stop_sequence_matched ? Json(*event.stop_sequence_matched) : Json(nullptr); }
  // input_tokens are those that were computed: a client adds the cached ones for the length of the prompt.
  static Json usage(const Usage& usage, int64_t output) {
    return {{"input_tokens", usage.prompt_tokens - usage.cached_tokens},
            {"cache_creation_input_tokens", 0},
            {"cache_read_input_tokens", usage.cached_tokens},
            {"output_tokens", output}};
  }
  [[nodiscard]] Json message() const {
    return {{"id", id_},
            {"type", "message"},
            {"role", "assistant"},
            {"model", service_->model_id},
            {"content", Json::array()},
            {"stop_reason", nullptr},
            {"stop_sequence", nullptr},
            {"usage", Json::object()}};
  }
  void send(std::string_view name, const Json& data) { exchange_->write(json_event(data, name)); }

  void send_pieces(const std::vector<ChatPiece>& pieces) {
    if (!streams_) return;
    for (const ChatPiece& piece : pieces) send_piece(piece);
  }
  void send_piece(const ChatPiece& piece) {
    switch (piece.kind) {
      case ChatPiece::Kind::content:
        open_block(piece.kind, {{"type", "text"}, {"text", ""}});
        return delta({{"type", "text_delta"}, {"text", piece.text}});
      case ChatPiece::Kind::reasoning:
        open_block(piece.kind, {{"type", "thinking"}, {"thinking", ""}, {"signature", ""}});
        return delta({{"type", "thinking_delta"}, {"thinking", piece.text}});
      case ChatPiece::Kind::call_begin:
        close_block();
        return open_block(piece.kind, {{"type", "tool_use"}, {"id", piece.id}, {"name", piece.text}, {"input", Json::object()}});
      case ChatPiece::Kind::call_arguments: return delta({{"type", "input_json_delta"}, {"partial_json", piece.text}});
    }
  }
  void open_block(ChatPiece::Kind kind, Json block) {
    if (open_ && kind_ == kind) return;
    close_block();
    open_ = true;
    kind_ = kind;
    send("content_block_start", {{"type", "content_block_start"}, {"index", index_}, {"content_block", std::move(block)}});
  }
  void delta(Json json) { send("content_block_delta", {{"type", "content_block_delta"}, {"index", index_}, {"delta", std::move(json)}}); }
  void close_block() {
    if (!std::exchange(open_, false)) return;
    send("content_block_stop", {{"type", "content_block_stop"}, {"index", index_++}});
  }

  Exchange exchange_;
  std::shared_ptr<Service> service_;
  bool streams_;
  ChatOutput output_;
  std::string id_ = random_id("msg_");
  bool open_ = false;
  ChatPiece::Kind kind_ = ChatPiece::Kind::content;
  int64_t index_ = 0;
};

void messages(Worker& worker, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const Json& body = http.json();
  Fields fields(body);
  ChatRequest chat;
  read_chat(fields, chat);
  read_generation(fields, *service, chat.request);
  read_adapters(fields, *service->engine, chat.request.params);
  read_stops(fields, "stop_sequences", chat.request.params.stop);
  fields.require("max_tokens");
  if (const auto value = fields.integer("max_tokens", 1)) chat.request.params.max_tokens = *value;
  chat.streams = fields.boolean("stream").value_or(false);
  fields.check();
  name_user(http, chat.request);
  prepare_chat(*service, chat, false);  // Anthropic's clients always send a large max_tokens
  auto writer = std::make_unique<MessageWriter>(exchange, service, chat);
  Answer::start(worker, service, std::move(chat.request), exchange, std::move(writer));
}

void count_input_tokens(Worker& worker, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const Json& body = http.json();
  Fields fields(body);
  ChatRequest chat;
  read_chat(fields, chat);
  fields.check();
  render_chat(*service, chat);
  exchange->respond(json_response(200, to_text({{"input_tokens", count_tokens(*service, chat)}})));
}

}  // namespace

void add_anthropic_routes(Router& router, Worker& worker) {
  router.add("POST", "/v1/messages", Dialect::anthropic,
             [&worker](HttpRequest& request, const Exchange& exchange) { messages(worker, request, exchange); });
  router.add("POST", "/v1/messages/count_tokens", Dialect::anthropic,
             [&worker](HttpRequest& request, const Exchange& exchange) { count_input_tokens(worker, request, exchange); });
}

}  // namespace wick::server
