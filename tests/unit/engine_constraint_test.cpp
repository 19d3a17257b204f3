#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <string>

#include "unit/engine_samples.h"
#include "unit/fake_language_model.h"
#include "unit/message_of.h"
#include "wick/engine/generator.h"
#include "wick/text/grammar/format_matcher.h"
#include "wick/text/grammar/token_constraint.h"

namespace wick {
namespace {

using Kind = OutputFormat::Kind;

// A model that always wants to say "ab", and never ends.
class Stubborn {
 public:
  Stubborn()
      : tokenizer(fake_tokenizer()),
        model(tokenizer->vocab_size(), 200, [this](const std::vector<int32_t>&) { return tokenizer->encode("ab").back(); }) {}

  GenerationResult tell(GenerationParams params, const OutputFormat& format) {
    params.constraint = ConstraintCompiler(tokenizer).compile(format);
    return Generator(model, tokenizer, 200).generate("x", params, {});
  }

  std::shared_ptr<const Tokenizer> tokenizer;
  FakeLanguageModel model;
};

TEST(ConstrainedGeneration, EveryTextFitsItsFormat) {
  Stubborn stubborn;
  const OutputFormat format{.kind = Kind::json_schema,
                            .text = R"({"type":"object","properties":{"n":{"type":"integer","minimum":10,"maximum":99},)"
                                    R"("s":{"type":"string","maxLength":5}},"required":["n","s"],"additionalProperties":false})"};
  FormatMatcher matcher(format);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    GenerationParams params{.sampling = {.temperature = 2, .top_k = 0, .top_p = 1, .min_p = 0, .seed = seed}, .max_tokens = 180};
    const GenerationResult result = stubborn.tell(params, format);
    EXPECT_EQ(result.stop_reason, StopReason::end_of_sequence);
    EXPECT_FALSE(matcher.mismatch(result.text)) << result.text;
  }
}

TEST(ConstrainedGeneration, TheTextEndsWhereNothingMoreIsAllowed) {
  Stubborn stubborn;
  const GenerationResult result = stubborn.tell({.sampling = {.temperature = 0}}, {.kind = Kind::regex, .text = "[0-9]{3}"});
  EXPECT_EQ(result.text.size(), 3U);
  EXPECT_EQ(result.stop_reason, StopReason::end_of_sequence);
  EXPECT_FALSE(stubborn.tokenizer->ends_generation(result.tokens.back()));
}

TEST(ConstrainedGeneration, TheTextMayBeCutOffByItsLength) {
  Stubborn stubborn;
  const GenerationResult result =
      stubborn.tell({.sampling = {.temperature = 0}, .max_tokens = 2}, {.kind = Kind::regex, .text = "[0-9]{30}"});
  EXPECT_EQ(result.stop_reason, StopReason::max_tokens);
}

TEST(ConstrainedGeneration, AStopTokenEndsTheTextAndAddsNone) {
  Stubborn stubborn;
  GenerationParams params{.sampling = {.temperature = 0}};
  params.stop_tokens = {stubborn.tokenizer->encode("ab").back()};
  const GenerationResult result = Generator(stubborn.model, stubborn.tokenizer, 200).generate("x", params, {});
  EXPECT_EQ(result.stop_reason, StopReason::stop_sequence);
  EXPECT_EQ(result.tokens, params.stop_tokens);
  EXPECT_EQ(result.text, "");
}

TEST(ConstrainedGeneration, AConstraintOfAnotherVocabularyIsRefused) {
  Stubborn stubborn;
  const auto other = fake_tokenizer(700);
  GenerationParams params;
  params.constraint = ConstraintCompiler(other).compile({.kind = Kind::json});
  EXPECT_THAT(message_of([&] { (void)Generator(stubborn.model, stubborn.tokenizer, 200).generate("x", params, {}); }),
              testing::HasSubstr("constraint"));
}

// Allows all tokens, once it may.
class HeldConstraint final : public TokenConstraint {
 public:
  struct Gate {
    std::mutex mutex;
    std::condition_variable opened;
    bool open = false;

    void set() {
      const std::lock_guard lock(mutex);
      open = true;
      opened.notify_all();
    }
  };

  explicit HeldConstraint(std::shared_ptr<Gate> gate) : gate_(std::move(gate)) {}

  int32_t vocab_size() const noexcept override { return EngineSample::kVocabulary; }
  void fill_mask(std::span<uint64_t> mask) override {
    std::unique_lock lock(gate_->mutex);
    gate_->opened.wait(lock, [this] { return gate_->open; });
    std::fill(mask.begin(), mask.end(), ~uint64_t{0});
  }
  void accept(TokenId) override {}
  bool can_end() const override { return true; }
  bool must_end() override { return false; }
  std::unique_ptr<TokenConstraint> clone() const override { return std::make_unique<HeldConstraint>(*this); }
  void reset() override {}

 private:
  std::shared_ptr<Gate> gate_;
};

TEST(ConstrainedGeneration, ASlowMaskDelaysNoOtherRequest) {
  for (const int64_t choices : {1, 3}) {
    EngineSample sample;
    Engine& engine = sample.engine({.sequences = 4});
    const auto gate = std::make_shared<HeldConstraint::Gate>();
    std::mt19937 random(3);
    const std::vector<TokenId> prompt = EngineSample::random_tokens(random, 5), other = EngineSample::random_tokens(random, 7);
    Request request = EngineSample::request(prompt, 30);
    request.params.constraint = std::make_shared<HeldConstraint>(gate);
    request.n = choices;
    Stream slow = engine.submit(std::move(request));
    Stream quick = engine.submit(EngineSample::request(other, 40));
    Answer held;
    Answer answer;
    for (int step = 0; step < 1000 && !answer.take(quick); ++step) (void)engine.step();
    EXPECT_EQ(answer.only(), EngineSample::continued(other, 40));
    EXPECT_FALSE(held.take(slow));
    EXPECT_TRUE(held.tokens.empty());
    gate->set();
    for (int step = 0; step < 1000 && !held.take(slow); ++step) (void)engine.step();
    ASSERT_EQ(std::ssize(held.tokens), choices);
    for (const auto& tokens : held.tokens) EXPECT_EQ(tokens, EngineSample::continued(prompt, 30));
    EXPECT_EQ(held.finishes[0].timings.decode_steps, 29);
  }
}

TEST(ConstrainedGeneration, ARequestThatWaitsForItsMaskCanBeCancelled) {
  EngineSample sample;
  Engine& engine = sample.engine({.sequences = 2});
  const auto gate = std::make_shared<HeldConstraint::Gate>();
  Request request = EngineSample::request({1, 2, 3}, 30);
  request.params.constraint = std::make_shared<HeldConstraint>(gate);
  Stream stream = engine.submit(std::move(request));
  for (int step = 0; step < 5; ++step) (void)engine.step();
  stream.cancel();
  Answer answer;
  for (int step = 0; step < 5 && !answer.take(stream); ++step) (void)engine.step();
  EXPECT_EQ(answer.reason(), StopReason::cancelled);
  EXPECT_EQ(engine.metrics().kv_blocks_used, 0);
  gate->set();
}

TEST(ConstrainedGeneration, SpeculationAndMasksTogetherChooseTheSameTokens) {
  // The text repeats itself, so that tokens are proposed.
  const auto next = [](const std::vector<int32_t>& tokens) { return static_cast<int32_t>((tokens.size() * 7) % 4 + 97); };
  EngineSample sample(512, next);
  const OutputFormat format{.kind = Kind::regex, .text = "[!-~]{10,90}"};
  std::vector<std::vector<TokenId>> texts;
  for (const int64_t most : {0, 8}) {
    Engine& engine = sample.engine({.speculation = {.most = most, .adaptive = false}});
    Request request = EngineSample::request({1, 2, 3}, 60);
    request.params.constraint = ConstraintCompiler(sample.tokenizer).compile(format);
    texts.push_back(sample.ask(std::move(request)).only());
    EXPECT_EQ(engine.metrics().accepted_draft_tokens > 0, most > 0);
  }
  EXPECT_EQ(texts[0], texts[1]);
}

TEST(ConstrainedGeneration, AFormatThatIsTooAmbiguousEndsItsRequestAlone) {
  const auto next = [](const std::vector<int32_t>&) { return 'a'; };
  EngineSample sample(512, next);
  Engine& engine = sample.engine({.sequences = 2});
  Request request = EngineSample::request({1, 2, 3}, 300);
  request.params.constraint =
      ConstraintCompiler(sample.tokenizer)
          .compile(
              {.kind = Kind::grammar, .text = "root ::= x\nx ::= [a-z] x y | [a-z] y x | [a-z]\ny ::= [a-z] y x x | [a-z] x y | [a-z]"});
  Stream ambiguous = engine.submit(std::move(request));
  Stream plain = engine.submit(EngineSample::request({4, 5}, 300));
  Answer refused;
  Answer answer;
  for (int step = 0; step < 10000 && !(refused.take(ambiguous) && answer.take(plain)); ++step) (void)engine.step();
  ASSERT_TRUE(refused.error);
  EXPECT_EQ(refused.error->code, ErrorCode::invalid_argument);
  EXPECT_THAT(refused.error->message, testing::HasSubstr("too ambiguous in rule"));
  EXPECT_EQ(std::ssize(answer.only()), 300);
}

}  // namespace
}  // namespace wick
