// ChatOutput splits a model's output in a conversation, as it comes, into text, reasoning and tool calls.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wick/server/worker.h"
#include "wick/text/chat/chat_parser.h"
#include "wick/text/chat/chat_template.h"

namespace wick::server {

// A piece of an answer. A tool call begins with its name and id; pieces of its arguments follow.
struct ChatPiece {
  enum class Kind { content, reasoning, call_begin, call_arguments };
  Kind kind = Kind::content;
  std::string text = {};  // of a call's beginning: its name
  size_t call = 0;        // counts the calls of an answer, from 0
  std::string id = {};    // of a call's beginning
};

class ChatOutput {
 public:
  // `rendered`: the prompt as text; `prompt`: what it was made of. `parses_tools`: whether calls are read, or are text like any other.
  ChatOutput(const Service& service, const std::string& rendered, const ChatPrompt& prompt, bool parses_tools);

  // Parses text, in pieces of any size, and returns what is complete; the last piece also returns held-back text.
  [[nodiscard]] std::vector<ChatPiece> push(std::string_view text);
  // A token and its text: control tokens have none, but tell where reasoning, channels and calls begin.
  [[nodiscard]] std::vector<ChatPiece> push(const TokenEvent& event);
  [[nodiscard]] std::vector<ChatPiece> finish(std::string_view text);

  // All of it together.
  struct Call {
    std::string id, name, arguments;
    // The arguments as an object; an empty one where the model wrote something else.
    [[nodiscard]] Json parsed_arguments() const;
  };
  [[nodiscard]] const std::string& content() const noexcept { return content_; }
  [[nodiscard]] const std::string& reasoning() const noexcept { return reasoning_; }
  [[nodiscard]] const std::vector<Call>& calls() const noexcept { return calls_; }

 private:
  std::vector<ChatPiece> keep(std::vector<ChatEvent> events);

  CallIds ids_;
  size_t calls_before_;  // in the conversation
  std::unique_ptr<ChatParser> parser_;
  std::string content_, reasoning_;
  std::vector<Call> calls_;
};

}  // namespace wick::server
