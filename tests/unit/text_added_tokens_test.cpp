// Texts that are sought in a text: what is found is what comparing each of them at each offset finds.
#include "wick/text/tokenizer/added_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/text/tokenizer/text_matcher.h"
#include "wick/text/unicode/unicode.h"

namespace wick {
namespace {

using Texts = std::vector<std::string>;

std::string random_text(std::mt19937& random, std::string_view letters, size_t length) {
  std::string text;
  for (size_t index = 0; index < length; ++index) text += letters[random() % letters.size()];
  return text;
}

// Few letters, so that many begin with others and end like others.
Texts random_texts(std::mt19937& random, std::string_view letters, size_t count, size_t longest) {
  Texts texts;
  for (size_t index = 0; index < count; ++index) texts.push_back(random_text(random, letters, 1 + random() % longest));
  return texts;
}

// The first of the longest texts that begin at `offset`; -1: none.
int32_t longest_at(const Texts& texts, std::string_view text, size_t offset) {
  int32_t best = -1;
  for (size_t index = 0; index < texts.size(); ++index) {
    const bool is_longer = best < 0 || texts[index].size() > texts[static_cast<size_t>(best)].size();
    if (!texts[index].empty() && is_longer && text.substr(offset).starts_with(texts[index])) best = static_cast<int32_t>(index);
  }
  return best;
}

TextMatcher matcher_of(const Texts& texts) {
  std::vector<TextMatcher::Entry> entries;
  for (size_t index = 0; index < texts.size(); ++index) entries.push_back({texts[index], static_cast<int32_t>(index)});
  return TextMatcher(entries);
}

void expect_found_at_each_offset(const Texts& texts, std::string_view text) {
  const TextMatcher matcher = matcher_of(texts);
  TextMatcher::Search search(matcher, text);
  for (size_t offset = 0; offset < text.size(); ++offset) {
    const int32_t expected = longest_at(texts, text, offset);
    const auto match = search.at(offset);
    ASSERT_EQ(match.has_value(), expected >= 0) << text << ", " << offset;
    if (!match) continue;
    ASSERT_EQ(match->value, expected) << text << ", " << offset;
    ASSERT_EQ(match->length, texts[static_cast<size_t>(expected)].size());
  }
}

TEST(TextMatcher, FindsTheLongestTextAtEachOffset) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const std::string_view letters = round % 2 == 0 ? "ab" : "abc";
    const Texts texts = random_texts(random, letters, random() % 8, 1 + random() % 6);
    expect_found_at_each_offset(texts, random_text(random, letters, random() % 60));
  }
  expect_found_at_each_offset({"", "a", "aa", "a"}, "baaab");
}

TEST(TextMatcher, FindsTextsAcrossItsBlocks) {
  std::mt19937 random(2);
  Texts texts = random_texts(random, "ab", 12, 14);
  texts.push_back(std::string(4000, 'a') + "b");
  std::string text = random_text(random, "ab", 40'000);
  text.replace(14'000, 5'000, 5'000, 'a');
  expect_found_at_each_offset(texts, text);
  expect_found_at_each_offset({std::string(4000, 'a') + "b", "a"}, std::string(50'000, 'a') + "b");
}

TEST(TextMatcher, SkipsToTheNextTextFromAnyOffset) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const Texts texts = random_texts(random, "abcd", 3, 5);
    const std::string text = random_text(random, "abcd", 300);
    const TextMatcher matcher = matcher_of(texts);
    TextMatcher::Search search(matcher, text);
    for (size_t offset = 0; offset < text.size(); offset += 1 + random() % 20) {
      size_t expected = offset;
      while (expected < text.size() && longest_at(texts, text, expected) < 0) ++expected;
      const auto match = search.next(offset);
      ASSERT_EQ(match ? match->begin : text.size(), expected);
    }
  }
}

// The same cuts by comparing each token at each offset.
std::vector<TextSegment> split_by_comparing(const std::vector<AddedToken>& tokens, std::string_view text) {
  Texts texts;
  for (const AddedToken& token : tokens) texts.push_back(token.text);
  const auto touches = [&](size_t begin, size_t end) {
    const bool before = begin > 0 && is_word(static_cast<unsigned char>(text[begin - 1]));
    return before || (end < text.size() && is_word(static_cast<unsigned char>(text[end])));
  };
  std::vector<TextSegment> segments;
  size_t done = 0;
  for (size_t offset = 0; offset < text.size();) {
    const int32_t found = longest_at(texts, text, offset);
    if (found < 0) {
      ++offset;
      continue;
    }
    const AddedToken& token = tokens[static_cast<size_t>(found)];
    size_t begin = offset;
    size_t end = offset + token.text.size();
    offset = end;
    if (token.single_word && touches(begin, end)) continue;
    while (token.strip_left && begin > done && text[begin - 1] == ' ') --begin;
    begin = token.strip_left ? std::max(begin, done) : begin;
    if (token.strip_right && end <= done) {
      end = done;
    } else {
      while (token.strip_right && end < text.size() && text[end] == ' ') ++end;
    }
    if (begin >= end) continue;
    if (begin > done) segments.push_back({{done, begin}, kNoToken});
    segments.push_back({{begin, end}, token.id});
    done = end;
  }
  if (done < text.size()) segments.push_back({{done, text.size()}, kNoToken});
  return segments;
}

TEST(AddedTokens, CutATextAtTheLeftmostLongestOnes) {
  std::mt19937 random(4);
  for (int round = 0; round < 3000; ++round) {
    std::vector<AddedToken> tokens;
    AddedTokens added;
    for (const std::string& text : random_texts(random, "ab <", 1 + random() % 5, 4)) {
      const auto flag = [&] { return random() % 4 == 0; };
      tokens.push_back(
          {.text = text, .id = static_cast<TokenId>(tokens.size()), .strip_left = flag(), .strip_right = flag(), .single_word = flag()});
      added.add(tokens.back());
    }
    added.build_index();
    const std::string text = random_text(random, "ab  <", random() % 40);
    const std::vector<TextSegment> segments = added.split(text, false, false);
    const std::vector<TextSegment> expected = split_by_comparing(tokens, text);
    ASSERT_EQ(segments.size(), expected.size()) << text;
    for (size_t index = 0; index < segments.size(); ++index) {
      ASSERT_EQ(segments[index].range.begin, expected[index].range.begin) << text;
      ASSERT_EQ(segments[index].range.end, expected[index].range.end) << text;
      ASSERT_EQ(segments[index].id, expected[index].id) << text;
    }
  }
}

TEST(AddedTokens, AreSoughtInRawOrNormalizedTextAndSpecialOnesOnDemand) {
  AddedTokens added;
  added.add({.text = "<raw>", .id = 1});
  added.add({.text = "<special>", .id = 2, .special = true});
  added.add({.text = "<normal>", .id = 3, .normalized = true});
  added.build_index();
  const auto ids = [&](bool normalized, bool parse_special) {
    std::vector<TokenId> found;
    for (const TextSegment& segment : added.split("<raw><special><normal>", normalized, parse_special)) {
      if (segment.id != kNoToken) found.push_back(segment.id);
    }
    return found;
  };
  EXPECT_EQ(ids(false, false), (std::vector<TokenId>{1}));
  EXPECT_EQ(ids(false, true), (std::vector<TokenId>{1, 2}));
  EXPECT_EQ(ids(true, false), (std::vector<TokenId>{3}));
  EXPECT_EQ(ids(true, true), (std::vector<TokenId>{3}));
}

}  // namespace
}  // namespace wick
