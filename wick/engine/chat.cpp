#include "wick/engine/chat.h"

#include <iterator>
#include <utility>
#include <variant>

#include "wick/base/error.h"
#include "wick/base/fail.h"
#include "wick/engine/engine.h"
#include "wick/model/language_model.h"
#include "wick/text/chat/call_detection.h"
#include "wick/text/chat/chat_output_format.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {
namespace {

// Puts the message of an answer together from its events, and passes them on.
class Assembler {
 public:
  Assembler(const ChatParserOptions& options, const ChatCallback& on_event) : parser_(options), on_event_(on_event) {}

  void text(std::string_view text) { take(parser_.push(text)); }
  void token(TokenId token, std::string_view text) { take(parser_.push(token, text)); }
  void finish() { take(parser_.finish()); }
  [[nodiscard]] bool refused() const noexcept { return refused_; }

  ChatMessage take_message() {
    ChatMessage message = std::move(message_);
    message.role = "assistant";
    if (!content_.empty() || message.tool_calls.empty()) message.content = std::move(content_);
    return message;
  }

 private:
  void take(const std::vector<ChatEvent>& events) {
    for (const ChatEvent& event : events) {
      switch (event.kind) {
        case ChatEventKind::content: content_ += event.text; break;
        case ChatEventKind::reasoning: message_.reasoning += event.text; break;
        case ChatEventKind::call_begin: message_.tool_calls.push_back({.id = event.id, .name = event.name}); break;
        case ChatEventKind::arguments: message_.tool_calls.back().arguments += event.text; break;
        case ChatEventKind::call_end: break;
      }
      if (!refused_ && on_event_ && !on_event_(event)) refused_ = true;
    }
  }

  ChatParser parser_;
  const ChatCallback& on_event_;
  ChatMessage message_;
  std::string content_;
  bool refused_ = false;
};

// The words of a special token, empty without one.
std::string token_text(const Tokenizer& tokenizer, std::optional<TokenId> token) {
  return token ? std::string(tokenizer.token_text(*token)) : std::string();
}

}  // namespace

void check_chats(const ModelInfo& model) {
  if (model.source_length == 0) return;
  fail(ErrorCode::invalid_argument,
       "{} is an encoder–decoder ({}): it writes one text from another and holds no conversation; use wick run", model.name,
       model.architecture);
}

Chat::Chat(LanguageModel& model, std::shared_ptr<const Tokenizer> tokenizer, ChatTemplate chat_template, const ChatOptions& options)
    : tokenizer_(std::move(tokenizer)),
      template_(std::move(chat_template)),
      syntax_(options.format.empty() ? template_.traits().syntax : find_call_syntax(options.format)),
      answer_(options.answer),
      constraints_(tokenizer_) {
  check_chats(model.info());
  EngineOptions engine{.context = options.context, .sequences = 1, .queue = 1};
  engine.speculation = {.ngram = false, .most = options.draft_tokens};
  engine_ = std::make_unique<Engine>(model, tokenizer_, engine, options.draft);
}

Chat::~Chat() = default;

int64_t Chat::context() const noexcept { return engine_->info().context; }
EngineMetrics Chat::metrics() const { return engine_->metrics(); }

std::string Chat::render(const ChatPrompt& prompt) const {
  ChatPrompt with_tokens = prompt;
  if (with_tokens.bos_token.empty()) with_tokens.bos_token = token_text(*tokenizer_, tokenizer_->bos());
  if (with_tokens.eos_token.empty()) with_tokens.eos_token = token_text(*tokenizer_, tokenizer_->eos());
  return template_.render(with_tokens);
}

int64_t Chat::count_tokens(const ChatPrompt& prompt) const { return std::ssize(engine_->encode_prompt(render(prompt), true)); }

EnforceableTools Chat::held_tools(const std::string& tools) { return enforceable_tools(*syntax_, tools, constraints_); }

ChatAnswer Chat::answer(const ChatPrompt& prompt, const GenerationParams& params, const ChatCallback& on_event) {
  const std::string text = render(prompt);
  Assembler assembler(
      {.syntax = syntax_, .starts_in_reasoning = ends_in_reasoning(text, *syntax_), .tools = prompt.tools, .tokenizer = tokenizer_.get()},
      on_event);
  ChatAnswer answer;
  GenerationParams held = params;
  const std::optional<OutputFormat> format =
      chat_output_format({.syntax = syntax_,
                          .template_source = template_.source(),
                          .rendered = text,
                          .calls = prompt.tools.empty() ? ChatRules::Calls::none : ChatRules::Calls::allowed,
                          .tools = prompt.tools.empty() ? prompt.tools : held_tools(prompt.tools).tools,
                          .parallel_calls = true,
                          .answer = answer_});
  if (format) held.constraint = constraints_.compile(*format);
  Stream stream = engine_->submit({.tokens = engine_->encode_prompt(text, true), .params = std::move(held)});
  while (!stream.ended()) {
    (void)engine_->step();
    while (std::optional<StreamEvent> event = stream.poll()) {
      if (const auto* token = std::get_if<TokenEvent>(&*event)) {
        assembler.token(token->token, token->text);
      } else if (const auto* finish = std::get_if<FinishEvent>(&*event)) {
        assembler.text(finish->text);
        answer.stop_reason = finish->reason;
        answer.prompt_tokens = finish->usage.prompt_tokens;
        answer.cached_tokens = finish->usage.cached_tokens;
        answer.completion_tokens = finish->usage.completion_tokens;
        answer.seed = finish->seed;
        answer.prefill_seconds = finish->timings.prefill;
        answer.decode_seconds = finish->timings.decode;
        answer.decode_steps = finish->timings.decode_steps;
        answer.draft_tokens = finish->usage.draft_tokens;
        answer.accepted_tokens = finish->usage.accepted_tokens;
      } else if (const auto* error = std::get_if<ErrorEvent>(&*event)) {
        throw error->error();
      }
    }
    if (assembler.refused()) stream.cancel();
  }
  assembler.finish();
  answer.message = assembler.take_message();
  return answer;
}

}  // namespace wick
