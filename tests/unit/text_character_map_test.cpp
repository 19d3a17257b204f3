// Tables made by hand: one sequence of the letter a.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wick/text/tokenizer/character_map.h"

namespace wick {
namespace {

void append(std::string& bytes, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(value >> shift);
}

// The node of each letter has 256 units of its own: one for its value, one for each letter that may follow.
CharacterMap map_of_letters(uint32_t count, const std::string& replacement) {
  constexpr uint32_t kNode = 256;
  constexpr uint32_t kHasValue = 1u << 8;
  std::vector<uint32_t> units((count + 2) * kNode);
  units[0] = kNode << 10;
  for (uint32_t letter = 1; letter <= count; ++letter) {
    const uint32_t from = letter * kNode ^ 'a';
    const uint32_t offset = from ^ ((letter + 1) * kNode);
    units[from] = offset << 10 | (letter == count ? kHasValue : 0) | 'a';
  }
  units[(count + 1) * kNode] = 1u << 31;
  std::string blob;
  append(blob, static_cast<uint32_t>(4 * units.size()));
  for (const uint32_t unit : units) append(blob, unit);
  return {blob + replacement, "test"};
}

TEST(CharacterMap, RewritesSequencesUpToTheLongest) {
  for (const uint32_t count : {1u, 3u, uint32_t{CharacterMap::kLongest}}) {
    const CharacterMap map = map_of_letters(count, "xy");
    const std::string text(2 * CharacterMap::kLongest, 'a');
    const auto match = map.longest(text);
    ASSERT_TRUE(match);
    EXPECT_EQ(match->length, count);
    EXPECT_EQ(match->replacement, "xy");
    EXPECT_FALSE(map.longest(text.substr(0, count - 1)));
    EXPECT_TRUE(map.may_continue(text.substr(0, count - 1)));
    EXPECT_FALSE(map.may_continue(text.substr(0, count)));
  }
}

TEST(CharacterMap, LongerSequencesAreNotRead) {
  const CharacterMap map = map_of_letters(CharacterMap::kLongest + 1, "xy");
  const std::string text(2 * CharacterMap::kLongest, 'a');
  EXPECT_FALSE(map.longest(text));
  EXPECT_FALSE(map.shortest(text));
  EXPECT_FALSE(map.may_continue(text.substr(0, CharacterMap::kLongest))) << "a stream would wait for it";
}

TEST(CharacterMap, ReplacementsMayBeLongerThanSequences) {
  const std::string replacement(CharacterMap::kLongestReplacement, 'x');
  const auto match = map_of_letters(2, replacement).longest("aa");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->replacement.size(), replacement.size());
}

}  // namespace
}  // namespace wick
