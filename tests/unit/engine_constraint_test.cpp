#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace wick
