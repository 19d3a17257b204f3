// An engine over a model that continues each text by a rule, so that a test knows every answer.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "unit/fake_language_model.h"
#include "wick/engine/engine.h"

namespace wick {

// Everything that a stream told.
struct Answer {
  std::vector<std::vector<TokenId>> tokens;  // of each choice
  std::vector<std::string> texts;
  std::vector<FinishEvent> finishes;
  std::vector<ProgressEvent> progress;
  std::optional<PromptEvent> prompt;
  std::optional<ErrorEvent> error;

  void add(StreamEvent event) {
    const auto choice_at = [&](int64_t choice) {
      const auto index = static_cast<size_t>(choice);
      if (tokens.size() <= index) tokens.resize(index + 1);
      if (texts.size() <= index) texts.resize(index + 1);
      return index;
    };
    if (const auto* step = std::get_if<ProgressEvent>(&event)) {
      EXPECT_FALSE(prompt.has_value()) << "progress of a prompt that is done";
      progress.push_back(*step);
    } else if (auto* of = std::get_if<PromptEvent>(&event)) {
      EXPECT_FALSE(prompt.has_value());
      prompt = std::move(*of);
    } else if (auto* token = std::get_if<TokenEvent>(&event)) {
      EXPECT_TRUE(prompt.has_value()) << "a token before the prompt's event";
      tokens[choice_at(token->choice)].push_back(token->token);
      texts[choice_at(token->choice)] += token->text;
    } else if (auto* finish = std::get_if<FinishEvent>(&event)) {
      texts[choice_at(finish->choice)] += finish->text;
      finishes.push_back(std::move(*finish));
    } else {
      error = std::move(std::get<ErrorEvent>(event));
    }
  }
  // Takes what is there; whether the stream has ended.
  bool take(Stream& stream) {
    while (std::optional<StreamEvent> event = stream.poll()) add(std::move(*event));
    return stream.ended();
  }
  [[nodiscard]] const std::vector<TokenId>& only() const { return tokens.at(0); }
  [[nodiscard]] StopReason reason() const { return finishes.at(0).reason; }
};

class EngineSample {
 public:
  static constexpr int32_t kVocabulary = 600;

  explicit EngineSample(int64_t context = 512) : EngineSample(context, rule) {}
  EngineSample(int64_t context, FakeLanguageModel::Next next)
      : tokenizer(fake_tokenizer(kVocabulary)), model(tokenizer->vocab_size(), context, std::move(next)) {}

  // The token behind a text: depends on all of it, and is never one that ends it.
  [[nodiscard]] static int32_t rule(const std::vector<int32_t>& tokens) {
    uint64_t hash = 1;
    for (const int32_t token : tokens) hash = (hash * 6364136223846793005U + static_cast<uint64_t>(token) + 1) ^ hash >> 29;
    return static_cast<int32_t>(hash >> 33) % 500;
  }
  // What the rule continues a prompt with.
  [[nodiscard]] static std::vector<TokenId> continued(std::vector<TokenId> text, int64_t count) {
    std::vector<TokenId> more;
    for (int64_t index = 0; index < count; ++index) {
      more.push_back(rule(text));
      text.push_back(more.back());
    }
    return more;
  }
  [[nodiscard]] static std::vector<TokenId> random_tokens(std::mt19937& random, int64_t count) {
    std::vector<TokenId> tokens(static_cast<size_t>(count));
    for (TokenId& token : tokens) token = static_cast<TokenId>(random() % 500);
    return tokens;
  }
  [[nodiscard]] static Request request(std::vector<TokenId> tokens, int64_t max_tokens) {
    Request request{.tokens = std::move(tokens)};
    request.params.max_tokens = max_tokens;
    request.params.sampling.temperature = 0;
    return request;
  }

  Engine& engine(const EngineOptions& options = {}) {
    engine_ = std::make_unique<Engine>(model, tokenizer, options);
    return *engine_;
  }
  void forget_engine() { engine_.reset(); }
  Engine& running() { return *engine_; }
  // Steps until a stream has ended, and what it told.
  Answer finish(Stream stream) {
    Answer answer;
    for (int steps = 0; !answer.take(stream) && steps < 100000; ++steps) (void)engine_->step();
    EXPECT_TRUE(stream.ended());
    return answer;
  }
  Answer ask(Request request) { return finish(engine_->submit(std::move(request))); }

  std::shared_ptr<const Tokenizer> tokenizer;
  FakeLanguageModel model;

 private:
  std::unique_ptr<Engine> engine_;
};

}  // namespace wick
