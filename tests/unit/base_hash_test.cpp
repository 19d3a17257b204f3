#include "wick/base/hash.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <unordered_set>

namespace wick {
namespace {

constexpr std::array<HashKey, 4> kKeys = {HashKey{0x6A09E667F3BCC908u, 0xBB67AE8584CAA73Bu, 0x9E3779B97F4A7C15u},
                                          HashKey{0xA5A5A5A5DEADBEEFu, 0x0F1E2D3C4B5A6978u, 0xBF58476D1CE4E5B9u},
                                          HashKey{0x243F6A8885A308D3u, 0x13198A2E03707344u, 0xA4093822299F31D1u},
                                          HashKey{0x452821E638D01377u, 0xBE5466CF34E90C6Du, 0xC0AC29B7C97C50DDu}};

TEST(KeyedHash, DependsOnEveryByteAndOnTheLength) {
  for (const HashKey& key : kKeys) {
    std::set<uint64_t> seen;
    for (size_t length = 0; length < 70; ++length) {
      std::string text(length, 'x');
      EXPECT_TRUE(seen.insert(keyed_hash(text, key)).second) << length;
      EXPECT_EQ(keyed_hash(text, key), keyed_hash(std::string(length, 'x'), key));
      for (size_t at = 0; at < length; ++at) {
        text[at] = 'y';
        EXPECT_TRUE(seen.insert(keyed_hash(text, key)).second) << length << " " << at;
        text[at] = 'x';
      }
    }
  }
}

// A length that is mixed into the text's own words can be undone by a byte of the text: "yx" and "xxx" were one hash under each key.
TEST(KeyedHash, NoTextOfAFewBytesEqualsAnotherUnderAnyKey) {
  constexpr std::string_view kLetters = "xyz{";
  for (const HashKey& key : kKeys) {
    EXPECT_NE(keyed_hash("yx", key), keyed_hash("xxx", key));
    std::set<uint64_t> seen;
    size_t texts = 0;
    for (size_t length = 0; length <= 6; ++length) {
      for (size_t number = 0; number < size_t{1} << (2 * length); ++number) {
        std::string text;
        for (size_t at = 0; at < length; ++at) text += kLetters[number >> (2 * at) & 3];
        seen.insert(keyed_hash(text, key));
        ++texts;
      }
    }
    EXPECT_EQ(seen.size(), texts);
  }
}

TEST(KeyedHash, ZeroBytesOfAnotherLengthAreAnotherText) {
  for (const HashKey& key : kKeys) {
    std::set<uint64_t> seen;
    for (size_t length = 0; length < 100; ++length) EXPECT_TRUE(seen.insert(keyed_hash(std::string(length, '\0'), key)).second) << length;
  }
}

TEST(KeyedHash, DependsOnTheKey) {
  std::set<uint64_t> seen;
  for (const HashKey& key : kKeys) seen.insert(keyed_hash("general.architecture", key));
  EXPECT_EQ(seen.size(), kKeys.size());
}

TEST(KeyedHash, ServesTheTablesOfTheStandardLibrary) {
  std::unordered_set<std::string, KeyedHash, std::equal_to<>> names{"a", "bc"};
  EXPECT_TRUE(names.contains(std::string_view("bc")));
  EXPECT_FALSE(names.contains(std::string_view("b")));
}

}  // namespace
}  // namespace wick
