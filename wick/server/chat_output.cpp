#include "wick/server/chat_output.h"

#include <algorithm>
#include <utility>

#include "wick/server/request_id.h"

namespace wick::server {

Json ChatOutput::Call::parsed_arguments() const {
  Json parsed = parse_ordered_json(arguments);
  return parsed.is_discarded() ? Json::object() : parsed;
}

ChatOutput::ChatOutput(const Service& service, const std::string& rendered, const ChatPrompt& prompt, bool parses_tools)
    : tokenizer_(service.engine->tokenizer()), parses_marks_(parses_tools || service.chat_format == "gpt-oss") {
  // The channels of gpt-oss are there without tools too.
  ChatParserOptions options{.format = parses_marks_ ? service.chat_format : "plain",
                            .starts_in_reasoning = ends_in_reasoning(rendered),
                            .tools = parses_tools ? prompt.tools : ""};
  parser_ = std::make_unique<ChatParser>(options);
}

std::vector<ChatPiece> ChatOutput::push(std::string_view text) { return keep(parser_->push(text)); }

std::vector<ChatPiece> ChatOutput::push(const TokenEvent& event) {
  if (!tokenizer_.is_control(event.token) || tokenizer_.ends_generation(event.token)) return push(event.text);
  const std::string_view mark = tokenizer_.token_text(event.token);
  const bool is_known = parses_marks_ || mark.find("think") != std::string_view::npos || mark.find("THINK") != std::string_view::npos;
  return push(is_known ? std::string(mark) + event.text : event.text);
}

std::vector<ChatPiece> ChatOutput::finish(std::string_view text) {
  std::vector<ChatPiece> pieces = push(text);
  for (ChatPiece& piece : keep(parser_->finish())) pieces.push_back(std::move(piece));
  return pieces;
}

std::vector<ChatPiece> ChatOutput::keep(std::vector<ChatEvent> events) {
  std::vector<ChatPiece> pieces;
  for (ChatEvent& event : events) {
    const auto call = static_cast<size_t>(std::max<int64_t>(event.call, 0));
    switch (event.kind) {
      case ChatEventKind::content: content_ += event.text; break;
      case ChatEventKind::reasoning: reasoning_ += event.text; break;
      case ChatEventKind::call_begin:
        // Ids that the parser counts are not unique over a conversation.
        if (event.id.empty() || event.id.starts_with("call_")) event.id = random_id("call_");
        calls_.resize(std::max(calls_.size(), call + 1));
        calls_[call] = {.id = event.id, .name = event.name, .arguments = {}};
        pieces.push_back({.kind = ChatPiece::Kind::call_begin, .text = event.name, .call = call, .id = event.id});
        continue;
      case ChatEventKind::arguments:
        calls_[call].arguments += event.text;
        pieces.push_back({.kind = ChatPiece::Kind::call_arguments, .text = std::move(event.text), .call = call});
        continue;
      case ChatEventKind::call_end: continue;
    }
    const bool is_content = event.kind == ChatEventKind::content;
    pieces.push_back({.kind = is_content ? ChatPiece::Kind::content : ChatPiece::Kind::reasoning, .text = std::move(event.text)});
  }
  return pieces;
}

}  // namespace wick::server
