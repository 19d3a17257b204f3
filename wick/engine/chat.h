// A Chat answers conversations with a model: the template makes the prompt, the cache keeps what a conversation has in common with the
// last one, and what the model writes comes as events.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "wick/engine/generation.h"
#include "wick/text/chat/call_form.h"
#include "wick/text/chat/chat_parser.h"
#include "wick/text/chat/chat_template.h"
#include "wick/text/grammar/token_constraint.h"

namespace [[gnu::visibility("default")]] wick {

class Engine;
struct EngineMetrics;
struct ModelInfo;
class LanguageModel;
class Tokenizer;

struct ChatOptions {
  // The most tokens of a conversation and its answer. 0: the model's own, at most 4096.
  int64_t context = 0;
  // One of chat_formats(); empty: detected from the template.
  std::string format = {};
  // The form of each answer behind its reasoning. None: any text. Calls of tools fit their schemas either way.
  std::optional<OutputFormat> answer = {};
  // Proposes up to `draft_tokens` tokens at a time (DraftModel); must live longer than the Chat. None: nothing is proposed.
  LanguageModel* draft = nullptr;
  int64_t draft_tokens = 16;
};

struct ChatAnswer {
  ChatMessage message = {};  // of the assistant: content, reasoning and calls
  StopReason stop_reason = StopReason::max_tokens;
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;  // of these, found in the cache
  int64_t completion_tokens = 0;
  uint64_t seed = 0;
  double prefill_seconds = 0;
  double decode_seconds = 0;
  int64_t decode_steps = 0;
  int64_t draft_tokens = 0, accepted_tokens = 0;  // proposed by a draft model; of these, right
};

// Takes an event as it comes. Returning false stops the answer.
using ChatCallback = std::function<bool(const ChatEvent& event)>;

// Errors: invalid_argument for an encoder–decoder, which holds no conversation.
void check_chats(const ModelInfo& model);

class Chat {
 public:
  // The model must live longer. Errors: Engine's, and DraftModel's; invalid_argument for a format that there is not.
  Chat(LanguageModel& model, std::shared_ptr<const Tokenizer> tokenizer, ChatTemplate chat_template, const ChatOptions& options = {});
  ~Chat();
  Chat(const Chat&) = delete;
  Chat& operator=(const Chat&) = delete;

  // Errors: the template's; context_full; invalid_argument for parameters out of range; ConstraintCompiler::compile's for the form.
  ChatAnswer answer(const ChatPrompt& prompt, const GenerationParams& params, const ChatCallback& on_event = {});
  // The parts of the tools' schemas that calls are constrained to; none without a call format. Errors: invalid_argument for tools
  // that are no list of functions.
  [[nodiscard]] EnforceableTools held_tools(const std::string& tools);
  // The text that the model continues.
  [[nodiscard]] std::string render(const ChatPrompt& prompt) const;
  // The number of its tokens.
  [[nodiscard]] int64_t count_tokens(const ChatPrompt& prompt) const;

  [[nodiscard]] const ChatTemplate& chat_template() const noexcept { return template_; }
  // How the model writes calls: as the format says, or the template.
  [[nodiscard]] const CallSyntax& syntax() const noexcept { return *syntax_; }
  [[nodiscard]] int64_t context() const noexcept;
  // Metrics of all answers so far.
  [[nodiscard]] EngineMetrics metrics() const;

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  ChatTemplate template_;
  std::shared_ptr<const CallSyntax> syntax_;
  std::optional<OutputFormat> answer_;
  ConstraintCompiler constraints_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace wick
