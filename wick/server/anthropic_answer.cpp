#include "wick/server/anthropic_answer.h"

#include <utility>

#include "wick/base/fail.h"
#include "wick/server/chat_output.h"
#include "wick/server/event_stream.h"
#include "wick/server/request_id.h"

namespace wick::server {
namespace {

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
    exchange_->write(error.stream_end(Dialect::anthropic));
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

}  // namespace

std::unique_ptr<AnswerWriter> anthropic_writer(Exchange exchange, std::shared_ptr<Service> service, const ChatRequest& chat) {
  return std::make_unique<MessageWriter>(std::move(exchange), std::move(service), chat);
}

}  // namespace wick::server
