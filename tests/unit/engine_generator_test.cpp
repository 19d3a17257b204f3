#include "wick/engine/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "unit/fake_language_model.h"
#include "unit/greedy.h"
#include "unit/message_of.h"

namespace wick {
namespace {

using testing::HasSubstr;

// A model that continues "<bos>ab" with the tokens of a text, then with EOS.
class Story {
 public:
  explicit Story(std::string text, int64_t context = 64, bool ends = true)
      : tokenizer(fake_tokenizer()),
        tokens(tokenizer->encode(text, {.add_special = false, .parse_special = false})),
        prompt_size(tokenizer->encode("ab").size()),
        model(tokenizer->vocab_size(), context, [this, ends](const std::vector<int32_t>& seen) {
          const size_t at = seen.size() - prompt_size;
          if (at < tokens.size()) return tokens[at];
          return ends ? *tokenizer->eos() : tokens[at % tokens.size()];
        }) {}

  GenerationResult tell(const GenerationParams& params, const TextCallback& on_text = {}) {
    Generator generator(model, tokenizer, model.info().context_length);
    return generator.generate("ab", params, on_text);
  }

  std::shared_ptr<const Tokenizer> tokenizer;
  std::vector<TokenId> tokens;
  size_t prompt_size;
  FakeLanguageModel model;
};

TEST(Generator, EndsAtTheEndOfTheSequence) {
  Story story(" one, two: three");
  std::string streamed;
  const GenerationResult result = story.tell(greedy(), [&](std::string_view text) {
    streamed += text;
    return true;
  });
  EXPECT_EQ(result.text, " one, two: three");
  EXPECT_EQ(streamed, result.text);
  EXPECT_EQ(result.stop_reason, StopReason::end_of_sequence);
  EXPECT_EQ(result.tokens.size(), story.tokens.size() + 1);
  EXPECT_EQ(result.prompt_tokens, static_cast<int64_t>(story.prompt_size));
}

TEST(Generator, ThePromptBeginsWithBosOnce) {
  Story story("x");
  (void)story.tell(greedy(1));
  EXPECT_EQ(story.model.seen().front(), *story.tokenizer->bos());
  EXPECT_EQ(story.model.seen().size(), story.prompt_size);
  EXPECT_EQ(std::count(story.model.seen().begin(), story.model.seen().end(), *story.tokenizer->bos()), 1);
}

TEST(Generator, MaxTokensIsExact) {
  Story story("a b c d e f");
  for (const int64_t count : {0, 1, 3}) {
    const GenerationResult result = story.tell(greedy(count));
    EXPECT_EQ(result.tokens.size(), static_cast<size_t>(count));
    EXPECT_EQ(result.stop_reason, StopReason::max_tokens);
  }
}

TEST(Generator, EndOfSequenceGoesBeforeMaxTokensAndMaxTokensBeforeStopStrings) {
  Story story("a b");
  const auto size = static_cast<int64_t>(story.tokens.size());
  EXPECT_EQ(story.tell(greedy(size + 1)).stop_reason, StopReason::end_of_sequence);
  GenerationParams params = greedy(size);
  params.stop = {" b"};
  const GenerationResult result = story.tell(params);
  EXPECT_EQ(result.stop_reason, StopReason::max_tokens);
  EXPECT_EQ(result.text, "a");  // a stop string is never part of the text
  params.max_tokens = size + 1;
  EXPECT_EQ(story.tell(params).stop_reason, StopReason::stop_sequence);
}

TEST(Generator, IgnoreEosGoesOn) {
  Story story("ab");
  GenerationParams params = greedy(10);
  params.ignore_eos = true;
  const GenerationResult result = story.tell(params);
  EXPECT_EQ(result.stop_reason, StopReason::max_tokens);
  EXPECT_EQ(result.tokens.size(), 10U);
  EXPECT_EQ(result.text, "ab");  // the end of the sequence adds no text
}

TEST(Generator, AStopStringSplitOverTokensEndsTheText) {
  Story story("first. The end. More");
  GenerationParams params = greedy();
  params.stop = {"zzz", ". The end"};
  const GenerationResult result = story.tell(params);
  EXPECT_EQ(result.text, "first");
  EXPECT_EQ(result.stop_reason, StopReason::stop_sequence);
  EXPECT_EQ(result.stop_sequence_matched, ". The end");
  EXPECT_LT(result.tokens.size(), story.tokens.size());
}

TEST(Generator, TextThatOnlyBeganLikeAStopStringIsNotLost) {
  Story story("first. The");
  GenerationParams params = greedy();
  params.stop = {". The end"};
  EXPECT_EQ(story.tell(params).text, "first. The");
}

TEST(Generator, TheCallbackGetsWholeCharacters) {
  Story story("é漢🦊");
  std::vector<std::string> pieces;
  (void)story.tell(greedy(), [&](std::string_view text) {
    pieces.emplace_back(text);
    return true;
  });
  EXPECT_THAT(pieces, testing::ElementsAre("é", "漢", "🦊"));
}

TEST(Generator, AHalfCharacterAtTheEndBecomesTheReplacement) {
  Story story("a🦊");
  EXPECT_EQ(story.tell(greedy(3)).text, "a\xef\xbf\xbd");
}

TEST(Generator, TheCallbackCancels) {
  Story story("a b c d e f");
  std::string streamed;
  const GenerationResult result = story.tell(greedy(), [&](std::string_view text) {
    streamed += text;
    return streamed.size() < 3;
  });
  EXPECT_EQ(result.stop_reason, StopReason::cancelled);
  EXPECT_EQ(result.text, "a b");
  EXPECT_EQ(streamed, "a b");
}

TEST(Generator, ACancelledPromptGivesNoTokenAndTheNextRequestIsWhole) {
  Story story("a b c d e f");
  Generator generator(story.model, story.tokenizer, 64);
  GenerationParams params = greedy();
  int asked = 0;
  params.is_cancelled = [&] { return ++asked == 1; };
  const GenerationResult cancelled = generator.generate("ab", params, {});
  EXPECT_EQ(cancelled.stop_reason, StopReason::cancelled);
  EXPECT_TRUE(cancelled.tokens.empty() && cancelled.text.empty());
  EXPECT_EQ(cancelled.prefill_seconds, 0);
  EXPECT_EQ(generator.generate("ab", greedy(), {}).text, "a b c d e f");
}

TEST(Generator, AFullContextEndsTheText) {
  Story story("a b c d e f g h", 6, false);
  const GenerationResult result = story.tell(greedy());
  EXPECT_EQ(result.stop_reason, StopReason::context_full);
  // Positions hold prompt and text; the last token is chosen from a full context and never computed.
  EXPECT_EQ(result.tokens.size(), 6 - story.prompt_size + 1);
}

TEST(Generator, APromptLongerThanTheContextIsAnErrorWithBothNumbers) {
  Story story("x", 64);
  Generator generator(story.model, story.tokenizer, 4);
  const std::string message = message_of([&] { (void)generator.generate("! ! ! ! ! !", greedy(), {}); });
  EXPECT_THAT(message, HasSubstr("12 tokens"));
  EXPECT_THAT(message, HasSubstr("holds 4"));
  EXPECT_THAT(message, HasSubstr("; shorten the prompt, or raise context, up to 64"));
}

TEST(Generator, APromptThatFillsTheContextGivesOneToken) {
  Story story("xyz", 64);
  Generator generator(story.model, story.tokenizer, static_cast<int64_t>(story.prompt_size));
  const GenerationResult result = generator.generate("ab", greedy(), {});
  EXPECT_EQ(result.tokens.size(), 1U);
  EXPECT_EQ(result.stop_reason, StopReason::context_full);
}

TEST(Generator, AnEmptyPromptContinuesFromBos) {
  const auto tokenizer = fake_tokenizer();
  FakeLanguageModel model(tokenizer->vocab_size(), 8, [&](const std::vector<int32_t>&) { return *tokenizer->eos(); });
  Generator generator(model, tokenizer, 8);
  const GenerationResult result = generator.generate("", greedy(), {});
  EXPECT_EQ(result.prompt_tokens, 1);
  EXPECT_THAT(model.seen(), testing::ElementsAre(*tokenizer->bos()));
}

TEST(Generator, AnEmptyPromptWithoutBosIsAnError) {
  const auto tokenizer = fake_tokenizer(600, false);
  FakeLanguageModel model(tokenizer->vocab_size(), 8, [&](const std::vector<int32_t>&) { return *tokenizer->eos(); });
  Generator generator(model, tokenizer, 8);
  EXPECT_THAT(message_of([&] { (void)generator.generate("", greedy(), {}); }), HasSubstr("no BOS token"));
}

TEST(Generator, InvalidUtf8InThePromptIsAnErrorWithItsPlace) {
  Story story("x");
  Generator generator(story.model, story.tokenizer, 16);
  EXPECT_THAT(message_of([&] { (void)generator.generate("ab\xff", greedy(), {}); }), HasSubstr("byte 2 (0xff)"));
}

TEST(Generator, SpecialTokensInThePromptAreTextUnlessAskedFor) {
  Story story("x");
  Generator generator(story.model, story.tokenizer, 64);
  GenerationParams params = greedy(0);
  EXPECT_GT(generator.generate("<|end_of_text|>", params, {}).prompt_tokens, 2);
  params.parse_special = true;
  EXPECT_EQ(generator.generate("<|end_of_text|>", params, {}).prompt_tokens, 2);
  EXPECT_EQ(generator.generate("<|begin_of_text|>", params, {}).prompt_tokens, 1);
}

TEST(Generator, ASecondRequestIsLikeAFreshOne) {
  Story story("one two three");
  Generator generator(story.model, story.tokenizer, 64);
  GenerationParams params = greedy();
  params.stop = {" three"};
  const GenerationResult first = generator.generate("ab", params, {});
  const GenerationResult second = generator.generate("ab", params, {});
  EXPECT_EQ(first.text, "one two");
  EXPECT_EQ(second.text, first.text);
  EXPECT_EQ(second.tokens, first.tokens);
  EXPECT_EQ(second.prompt_tokens, first.prompt_tokens);
}

TEST(Generator, ALongerRequestAfterAShortOneFits) {
  Story story(std::string(300, '7'), 1000);
  Generator generator(story.model, story.tokenizer, 1000);
  EXPECT_EQ(generator.generate("ab", greedy(3), {}).text, "777");
  EXPECT_EQ(generator.generate("ab", greedy(1000), {}).text, std::string(300, '7'));
  EXPECT_EQ(generator.generate("ab", greedy(std::numeric_limits<int64_t>::max()), {}).text, std::string(300, '7'));
}

TEST(Generator, AContextLongerThanTheModelsIsRefused) {
  Story story("x", 64);
  EXPECT_THAT(message_of([&] { const Generator generator(story.model, story.tokenizer, 65); }), HasSubstr("from 1 to 64"));
}

TEST(Generator, TheSameSeedGivesTheSameTextAndItIsTold) {
  const auto tokenizer = fake_tokenizer();
  FakeLanguageModel model(tokenizer->vocab_size(), 64, [](const std::vector<int32_t>&) { return 70; });
  Generator generator(model, tokenizer, 64);
  GenerationParams params;
  params.max_tokens = 40;
  params.sampling = {.temperature = 2, .top_k = 0, .top_p = 1, .min_p = 0};
  params.ignore_eos = true;
  const GenerationResult first = generator.generate("ab", params, {});
  params.sampling.seed = first.seed;
  EXPECT_EQ(generator.generate("ab", params, {}).tokens, first.tokens);
  params.sampling.seed = first.seed + 1;
  EXPECT_NE(generator.generate("ab", params, {}).tokens, first.tokens);
}

TEST(Generator, PenaltiesCountThePrompt) {
  const auto tokenizer = fake_tokenizer();
  const auto prompt_token = tokenizer->encode("7", {.add_special = false, .parse_special = false}).front();
  FakeLanguageModel model(tokenizer->vocab_size(), 64, [&](const std::vector<int32_t>&) { return prompt_token; });
  Generator generator(model, tokenizer, 64);
  GenerationParams params = greedy(1);
  EXPECT_EQ(generator.generate("7", params, {}).tokens.front(), prompt_token);
  params.sampling.frequency_penalty = 2;
  EXPECT_NE(generator.generate("777777777777", params, {}).tokens.front(), prompt_token);
}

TEST(Generator, ATokenizerOfAnotherModelIsRefused) {
  const auto tokenizer = fake_tokenizer();
  FakeLanguageModel model(100, 8, [](const std::vector<int32_t>&) { return 0; });
  EXPECT_THAT(message_of([&] { const Generator generator(model, tokenizer, 8); }), HasSubstr("600 tokens"));
}

}  // namespace
}  // namespace wick
