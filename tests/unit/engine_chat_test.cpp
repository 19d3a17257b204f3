// A Chat over the default model with a template that it was not made for: what is checked is the way, not the words.
#include "wick/engine/chat.h"

#include <gtest/gtest.h>

#include "shared_data.h"
#include "unit/greedy.h"
#include "wick/base/error.h"
#include "wick/engine/llm.h"

namespace wick {
namespace {

Llm load(const std::string& chat_template) {
  LlmOptions options{.device = Device::cpu()};
  options.chat_template = chat_template;
  return Llm::load(source_file("models/novelist-20m-q8_0.gguf"), options);
}

ChatPrompt conversation() {
  ChatPrompt prompt;
  prompt.messages = {
      {.role = "system",
       .content = "You are an old sailor, and tell a long story about the sea, the land, and the men who go from one to the other."},
      {.role = "user", .content = "Begin."}};
  return prompt;
}

TEST(Chat, SecondTurnFindsTheFirstInTheCache) {
  const Llm model = load("chatml");
  ChatPrompt prompt = conversation();
  std::string streamed;
  const ChatAnswer first = model.chat(prompt, greedy(6), [&](const ChatEvent& event) {
    streamed += event.text;
    return true;
  });
  EXPECT_EQ(first.cached_tokens, 0);
  EXPECT_EQ(first.completion_tokens, 6);
  EXPECT_EQ(first.message.role, "assistant");
  EXPECT_EQ(first.message.content, streamed);
  prompt.messages.push_back(first.message);
  prompt.messages.push_back({.role = "user", .content = "Go on."});
  const ChatAnswer second = model.chat(prompt, greedy(6));
  EXPECT_GE(second.cached_tokens, 32);
  EXPECT_EQ(load("chatml").chat(prompt, greedy(6)).message, second.message);
}

TEST(Chat, CallbackStopsTheAnswer) {
  const ChatAnswer answer = load("plain").chat(conversation(), {.max_tokens = 100}, [](const ChatEvent&) { return false; });
  EXPECT_EQ(answer.stop_reason, StopReason::cancelled);
  EXPECT_LT(answer.completion_tokens, 10);
}

TEST(Chat, ModelWithoutATemplateIsRefused) {
  try {
    (void)load("").chat(conversation());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_found);
  }
}

}  // namespace
}  // namespace wick
