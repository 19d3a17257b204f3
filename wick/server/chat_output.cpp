#include "wick/server/chat_output.h"

#include <algorithm>
#include <utility>

#include "wick/server/request_id.h"
#include "wick/text/chat/call_ids.h"

namespace wick::server {

Json ChatOutput::Call::parsed_arguments() const {
  Json parsed = parse_ordered_json(arguments);
  return parsed.is_discarded() ? Json::object() : parsed;
}

ChatOutput::ChatOutput(const Service& service, const std::string& rendered, const ChatPrompt& prompt, bool parses_tools)
    : ids_(service.call_syntax->ids), calls_before_(count_calls(prompt.messages)) {
  std::shared_ptr<const CallSyntax> syntax = service.call_syntax;
  if (!parses_tools && !syntax->forms.empty()) {
    // Reasoning and channels are there without tools too.
    auto without = std::make_shared<CallSyntax>(*syntax);
    without->forms.clear();
    syntax = std::move(without);
  }
  const bool in_reasoning = ends_in_reasoning(rendered, *syntax);
  parser_ = std::make_unique<ChatParser>(ChatParserOptions{.syntax = std::move(syntax),
                                                           .starts_in_reasoning = in_reasoning,
                                                           .tools = parses_tools ? prompt.tools : "",
                                                           .tokenizer = &service.engine->tokenizer()});
}

std::vector<ChatPiece> ChatOutput::push(std::string_view text) { return keep(parser_->push(text)); }

std::vector<ChatPiece> ChatOutput::push(const TokenEvent& event) { return keep(parser_->push(event.token, event.text)); }

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
        if (event.id.empty() || event.id.starts_with("call_")) {
          event.id = ids_ == CallIds::any ? random_id("call_") : make_call_id(ids_, event.name, calls_before_ + call, random_number());
        }
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
