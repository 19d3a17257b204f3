// A ChatParser turns what a model writes, piece by piece, into events: text, reasoning, and calls of tools.
//
// One machine reads reasoning and calls together, a byte at a time, so that the events do not depend on how the text was cut: a call
// inside of a reasoning block is a call, and what looked like a call but was none comes out as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wick/text/chat/call_form.h"
#include "wick/text/tokenizer/vocabulary.h"

namespace [[gnu::visibility("default")]] wick {

class Tokenizer;

enum class ChatEventKind : uint8_t { content, reasoning, call_begin, arguments, call_end };

struct ChatEvent {
  ChatEventKind kind = ChatEventKind::content;
  std::string text = {};  // more of the content, the reasoning or a call's arguments (JSON); valid UTF-8 if the input is
  int64_t call = -1;      // which call, from 0
  std::string id = {};    // of call_begin: as the model gave it, else "call_0", "call_1" …
  std::string name = {};  // of call_begin

  friend bool operator==(const ChatEvent&, const ChatEvent&) = default;
};

struct ChatParserOptions {
  // A name of chat_formats(): "hermes" (also Qwen's XML form and GLM's), "llama3" … "plain" (no calls).
  std::string format = "hermes";
  // Instead of the format: what was read from a template.
  std::shared_ptr<const CallSyntax> syntax = {};
  // The prompt has opened a reasoning block already.
  bool starts_in_reasoning = false;
  // JSON, as in ChatPrompt: tells which parameters of calls in XML are texts. Empty: what is JSON is taken for JSON.
  std::string tools = {};
  // The vocabulary that the text was written in; it must live longer. A mark that is one of its tokens is read where the token comes, not
  // where a text is spelled so. A mark that is none begins a call only at the beginning of a line or of the answer, and only with the name
  // of one of `tools` after it. Without a vocabulary each text that is spelled like a mark is the mark.
  const Tokenizer* tokenizer = nullptr;
};

// Whether a prompt ends inside of a reasoning block, for a model that writes in this syntax.
[[nodiscard]] bool ends_in_reasoning(std::string_view prompt, const CallSyntax& syntax);

class ChatParser {
 public:
  // Errors: invalid_argument for a format that there is not, and for tools that are not JSON.
  explicit ChatParser(const ChatParserOptions& options);
  ~ChatParser();
  ChatParser(const ChatParser&) = delete;
  ChatParser& operator=(const ChatParser&) = delete;

  // Takes more of the text; what is known of it now, neighbouring texts joined.
  [[nodiscard]] std::vector<ChatEvent> push(std::string_view text);
  // Takes a token of options.tokenizer, and the text that it added, which may be late.
  [[nodiscard]] std::vector<ChatEvent> push(TokenId token, std::string_view text);
  // The end of the text: what was held back. A call that has begun ends; one that never got a name is text.
  [[nodiscard]] std::vector<ChatEvent> finish();

 private:
  class Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace wick
