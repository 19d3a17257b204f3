#include "wick/text/regex/regex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "wick/base/error.h"
#include "wick/text/tokenizer/pre_tokenizer_patterns.h"

namespace wick {
namespace {

std::vector<std::string> all_matches(std::string_view pattern, std::string_view text) {
  const Regex regex(pattern, "test");
  RegexScratch scratch;
  std::vector<std::string> found;
  TextSpan match;
  for (size_t offset = 0; offset < text.size() && regex.find(text, offset, scratch, match); offset = match.end) {
    if (match.begin == match.end) break;
    found.emplace_back(text.substr(match.begin, match.end - match.begin));
  }
  return found;
}

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Regex, GptTwoPatternCutsContractionsNumbersAndSpaces) {
  EXPECT_THAT(all_matches(gpt2_pattern(), "I'll see 42  été."), ElementsAre("I", "'ll", " see", " 42", " ", " été", "."));
}

TEST(Regex, LlamaThreePatternTakesThreeDigitsAtATime) {
  EXPECT_THAT(all_matches(llama3_pattern(), "12345 IT'S\n\n x"), ElementsAre("123", "45", " IT", "'S", "\n\n", " x"));
}

TEST(Regex, Gpt4oPatternCutsBetweenCases) {
  EXPECT_THAT(all_matches(gpt4o_pattern(), "HelloWorld HTTPServer don't"), ElementsAre("Hello", "World", " HTTPServer", " don't"));
}

TEST(Regex, SpaceIsUnicodesWhiteSpaceWithoutTheMongolianSeparator) {
  EXPECT_THAT(all_matches("\\s+", "a\u0085\u3000b\u180Ec"), ElementsAre("\u0085\u3000"));
}

TEST(Regex, WordHasMarksAsInOniguruma) { EXPECT_THAT(all_matches("\\w+|[^\\w\\s]+", "n\u0303o-1"), ElementsAre("n\u0303o", "-", "1")); }

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

// What these patterns match was asked of Oniguruma itself, through Hugging Face's tokenizers.
TEST(Regex, WordClassesAndBoundariesHaveMarks) {
  EXPECT_THAT(all_matches("[^\\W\\d_]+", "नमस्ते"), ElementsAre("नमस्ते"));
  EXPECT_THAT(all_matches("[[:word:]]+", "नमस्ते"), ElementsAre("नमस्ते"));
  EXPECT_THAT(all_matches("\\b.", "ते ab"), ElementsAre("त", " ", "a"));
  EXPECT_THAT(all_matches("\\w+", "a²b\u200Dc½"), ElementsAre("a²b", "c½"));
  EXPECT_THAT(all_matches("[\\w]+", "a²b"), ElementsAre("a", "b")) << "inside of brackets the numbers of Latin-1 are not in \\w";
}

TEST(Regex, ScriptsHaveNoExtensions) {
  EXPECT_THAT(all_matches("\\p{Han}+", "中。文"), ElementsAre("中", "文"));
  EXPECT_THAT(all_matches("\\p{Arabic}+", "ع؟"), ElementsAre("ع"));
  EXPECT_THAT(all_matches("\\p{Devanagari}+", "न।"), ElementsAre("न"));
}

TEST(Regex, PosixBracketsAreUnicodes) {
  EXPECT_THAT(all_matches("[[:punct:]]+", "a$+、b"), ElementsAre("$+、"));
  EXPECT_THAT(all_matches("\\p{Punct}+", "a$+、b"), ElementsAre("、"));
  EXPECT_THAT(all_matches("[[:alpha:]]+", "aⓐ1"), ElementsAre("aⓐ"));
  EXPECT_THAT(all_matches("[[:lower:]]+", "aªA"), ElementsAre("aª"));
  EXPECT_THAT(all_matches("[[:space:]]+", " \u180E"), ElementsAre(" "));
  EXPECT_THAT(all_matches("[^\\S]+", " \u180E"), ElementsAre(" "));
  EXPECT_THAT(all_matches("[[:^alnum:]]+", "a-_1"), ElementsAre("-_"));
}

TEST(Regex, PropertiesHaveLongNamesInAnySpelling) {
  for (const char* name : {"Letter", "L", "letter", "Alphabetic", "Alpha", "^Number", "Alnum", "lowercase letter", "Ll", "Latin", "latn"}) {
    EXPECT_THAT(all_matches(std::string("\\p{") + name + "}", "a"), ElementsAre("a")) << name;
  }
  EXPECT_THAT(all_matches("\\P{^Letter}", "a1"), ElementsAre("a"));
  EXPECT_THROW(Regex("\\p{Klingonish}", "test"), Error);
}

TEST(Regex, ClassesIntersectAndNest) {
  EXPECT_THAT(all_matches("[\\p{L}&&[^\\p{Han}]]+", "ab中c"), ElementsAre("ab", "c"));
  EXPECT_THAT(all_matches("[a-z&&[^aeiou]&&[^x]]+", "abcxe"), ElementsAre("bc"));
  EXPECT_THAT(all_matches("[a[bc]d]+", "xabcdx"), ElementsAre("abcd"));
  EXPECT_THAT(all_matches("[^a[^b]]+", "abbc"), ElementsAre("bb"));
  EXPECT_THAT(all_matches("[^a-c&&b]+", "abc"), ElementsAre("a", "c"));
  EXPECT_THAT(all_matches("[\\W\\d]+", "a1-b"), ElementsAre("1-"));
}

TEST(Regex, CodesBoundariesAndAbsentTexts) {
  EXPECT_THAT(all_matches("[\\u4e00-\\u9fff]", "a中"), ElementsAre("中"));
  EXPECT_THAT(all_matches("\\x{4e2d}|\\xE6\\x96\\x87|\\101", "A中文"), ElementsAre("A", "中", "文"));
  EXPECT_THAT(all_matches("\\O+", "a\nb"), ElementsAre("a\nb"));
  EXPECT_THAT(all_matches("a\\y.\\Y.", "abe\u0301ae\u0301"), ElementsAre("ae\u0301"));
  EXPECT_THAT(all_matches("/\\*(?~\\*/)\\*/", "/* a */ b */"), ElementsAre("/* a */"));
  EXPECT_THAT(all_matches("(?~ab)", "xab"), ElementsAre("x"));
  EXPECT_THAT(all_matches("\\h+\\v", "fF0\v"), ElementsAre("fF0\v"));
}

TEST(Regex, QuantifiersAndOptionsAreRubys) {
  EXPECT_THAT(all_matches("a{,2}b", "aaab"), ElementsAre("aab"));
  EXPECT_THAT(all_matches("(?:a{1,2}+b)", "aaab"), ElementsAre("aaab")) << "an interval with a plus is repeated";
  EXPECT_THAT(all_matches("(?m:a.)b", "a\nb"), ElementsAre("a\nb"));
  EXPECT_THAT(all_matches("x(?i)a|b", "xAxBb"), ElementsAre("xA", "xB"));
  EXPECT_THAT(all_matches("(?i:[\\p{Lu}])\\x{41 42}", "aAB"), ElementsAre("aAB"));
  EXPECT_THAT(all_matches("(?x: a b # comment\n c )", "abc"), ElementsAre("abc"));
  EXPECT_THAT(all_matches("(?x: a\u00A0\vb )", "ab a\u00A0\vb"), ElementsAre("a\u00A0\vb"));
  EXPECT_THAT(all_matches("(?i:[\u03A3\\P{Lu}]b)", "xbXb1B"), ElementsAre("xb", "Xb", "1B"));
  EXPECT_THAT(all_matches("(?i:[^\\p{Lu}])", "aA1"), ElementsAre("1"));
}

TEST(Regex, WhatIsNotTranslatedIsNamed) {
  for (const char* pattern : {"(?~|a|b)", "(?{1})", "(*FAIL)", "\\p{Age=5.0}"}) {
    try {
      Regex(pattern, "test");
      FAIL() << pattern;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported) << pattern;
      EXPECT_THAT(error.what(), HasSubstr(pattern));
    }
  }
  for (const char* pattern : {"[", "a)", "(", "*a", "[b-a]", "\\x{110000}", "a\\"}) EXPECT_THROW(Regex(pattern, "test"), Error) << pattern;
  std::string nested(5000, '(');
  EXPECT_THROW(Regex(nested + std::string(5000, ')'), "test"), Error);
  EXPECT_THROW(Regex(std::string(5000, '['), "test"), Error);
}

// Expected by Oniguruma 6.9 through Hugging Face tokenizers.
TEST(Regex, SurrogatesMatchNothingAndRangesGoRoundThem) {
  EXPECT_THAT(all_matches("\\uD800|a", "a\uE001"), ElementsAre("a"));
  EXPECT_THAT(all_matches("(?<=a|\\x{D900})b", "ab"), ElementsAre("b"));
  EXPECT_THAT(all_matches("[\\uD800-\\uDFFF]|a", "a\uE001\uD7FF"), ElementsAre("a"));
  EXPECT_THAT(all_matches("[\\uD800-\\uE100]", "a\uE001\uE101\uD7FF"), ElementsAre("\uE001"));
  EXPECT_THAT(all_matches("[b-\\uD900]+", "abc\uE001\uD7FF"), ElementsAre("bc", "\uD7FF"));
  EXPECT_THAT(all_matches("[^\\uD800-\\uDFFF]", "a\uE001"), ElementsAre("a", "\uE001"));
}

TEST(Regex, CharactersThatTwoMembersOfAClassHoldAreTriedOnce) {
  const std::string text(200, 'x');
  for (const char* pattern : {"[\\w[^ ]]+é", "[[a-z]\\W[^\\d]]*?é"}) EXPECT_THAT(all_matches(pattern, text), ElementsAre()) << pattern;
}

TEST(Regex, PatternThatBacktracksWithoutEndGivesUpWithAnError) {
  const Regex regex("(x+x+)+y", "test");
  RegexScratch scratch;
  TextSpan match;
  EXPECT_THROW(static_cast<void>(regex.find(std::string(60, 'x') + "zy", 0, scratch, match)), Error);
}

TEST(Regex, NameThatIsNotUtf8IsMatchedAsIfItsBadBytesWereReplaced) {
  RegexScratch scratch;
  EXPECT_TRUE(Regex("^a.\\X+z$", "test").matches("a\xff\xe2\x82z", scratch));
  EXPECT_TRUE(Regex("\\x{FFFD}$", "test").matches("blk.\xf0\x9f", scratch));
  EXPECT_FALSE(Regex("[a-z]", "test").matches("\xc0\x80\xff", scratch));
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
  EXPECT_THAT(all_matches(quote_literal(literal), "axb" + literal), ElementsAre(literal));
}

}  // namespace
}  // namespace wick
