#include "wick/text/regex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "wick/base/error.h"
#include "wick/text/pre_tokenizer_patterns.h"

namespace wick {
namespace {

std::vector<std::string> matches(std::string_view pattern, std::string_view text) {
  const Regex regex(pattern, "test");
  RegexScratch scratch;
  std::vector<std::string> found;
  Range match;
  for (size_t offset = 0; offset < text.size() && regex.find(text, offset, scratch, match); offset = match.end) {
    if (match.begin == match.end) break;
    found.emplace_back(text.substr(match.begin, match.end - match.begin));
  }
  return found;
}

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Regex, GptTwoPatternCutsContractionsNumbersAndSpaces) {
  EXPECT_THAT(matches(gpt2_pattern(), "I'll see 42  été."), ElementsAre("I", "'ll", " see", " 42", " ", " été", "."));
}

TEST(Regex, LlamaThreePatternTakesThreeDigitsAtATime) {
  EXPECT_THAT(matches(llama3_pattern(), "12345 IT'S\n\n x"), ElementsAre("123", "45", " IT", "'S", "\n\n", " x"));
}

TEST(Regex, Gpt4oPatternCutsBetweenCases) {
  EXPECT_THAT(matches(gpt4o_pattern(), "HelloWorld HTTPServer don't"), ElementsAre("Hello", "World", " HTTPServer", " don't"));
}

TEST(Regex, SpaceIsUnicodesWhiteSpaceWithoutTheMongolianSeparator) {
  EXPECT_THAT(matches("\\s+", "a\u0085\u3000b\u180Ec"), ElementsAre("\u0085\u3000"));
}

TEST(Regex, WordHasMarksAsInOniguruma) { EXPECT_THAT(matches("\\w+|[^\\w\\s]+", "n\u0303o-1"), ElementsAre("n\u0303o", "-", "1")); }

TEST(Regex, MalformedPatternNamesPlaceAndOffset) {
  try {
    Regex("a(b", "file.json: pre_tokenizer");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::corrupt_file);
    EXPECT_THAT(error.what(), HasSubstr("file.json: pre_tokenizer"));
    EXPECT_THAT(error.what(), HasSubstr("a(b"));
  }
}

TEST(Regex, ClassIntersectionIsRefusedNotMisread) {
  EXPECT_THROW(Regex("[\\p{L}&&[^a]]", "test"), Error);
  EXPECT_THROW(Regex("[a[bc]]", "test"), Error);
  EXPECT_NO_THROW(Regex("[[:alpha:]]+", "test"));
}

TEST(Regex, PatternThatBacktracksWithoutEndGivesUpWithAnError) {
  const Regex regex("(x+x+)+y", "test");
  RegexScratch scratch;
  Range match;
  EXPECT_THROW(static_cast<void>(regex.find(std::string(60, 'x') + "zy", 0, scratch, match)), Error);
}

TEST(Regex, EveryNamedPatternSetCompiles) {
  std::string names = known_pattern_sets();
  size_t count = 0;
  while (!names.empty()) {
    const std::string name = names.substr(0, names.find(", "));
    names.erase(0, name.size() + 2 > names.size() ? names.size() : name.size() + 2);
    const PatternSet* set = find_pattern_set(name);
    ASSERT_NE(set, nullptr) << name;
    for (const std::string_view pattern : set->patterns) EXPECT_NO_THROW(Regex(pattern, name)) << name;
    ++count;
  }
  EXPECT_GT(count, 60u);
  EXPECT_EQ(find_pattern_set("no-such-model"), nullptr);
}

TEST(Regex, QuotedLiteralMatchesItselfOnly) {
  const std::string literal = "a.b*(c)[d]\n|é";
  EXPECT_THAT(matches(quote_literal(literal), "axb" + literal), ElementsAre(literal));
}

}  // namespace
}  // namespace wick
