#include "wick/text/unicode/unicode.h"

#include <gtest/gtest.h>

namespace wick {
namespace {

TEST(Unicode, EveryCodePointSurvivesEncodingAndDecoding) {
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;
    std::string text;
    append_character(text, code);
    const DecodedCharacter character = decode_character(text, 0);
    ASSERT_TRUE(character.valid) << std::hex << static_cast<uint32_t>(code);
    ASSERT_EQ(character.code, code);
    ASSERT_EQ(character.length, text.size());
  }
}

TEST(Unicode, OverlongFormsSurrogatesAndCodesBeyondTheLastAreInvalid) {
  for (const std::string_view text : {"\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF5\x80", "\x80", "\xFF"}) {
    EXPECT_FALSE(decode_character(text, 0).valid);
    EXPECT_FALSE(is_valid_utf8(text));
  }
}

TEST(Unicode, InvalidBytesBecomeOneReplacementForEachMaximalSubpart) {
  // The example of the Unicode standard, section 3.9, table 3-8.
  EXPECT_EQ(replace_invalid("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64", InvalidBytes::one_per_subpart),
            "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd");
  EXPECT_EQ(replace_invalid("\xE1\x80x", InvalidBytes::one_per_byte), "\uFFFD\uFFFDx");
}

TEST(Unicode, IncompleteSuffixIsWhatMoreBytesMayComplete) {
  EXPECT_EQ(incomplete_suffix("a"), 0u);
  EXPECT_EQ(incomplete_suffix(""), 0u);
  EXPECT_EQ(incomplete_suffix("a\xC3"), 1u);
  EXPECT_EQ(incomplete_suffix("\xE2\x82"), 2u);
  EXPECT_EQ(incomplete_suffix("\xF0\x9F\x99"), 3u);
  EXPECT_EQ(incomplete_suffix("\xF0\x9F\x99\x82"), 0u);
  EXPECT_EQ(incomplete_suffix("\xE0\x80"), 0u) << "no character begins so";
  EXPECT_EQ(incomplete_suffix("\xC3\xC3"), 1u);
  EXPECT_EQ(incomplete_suffix("\x80\x80\x80\x80"), 0u);
}

TEST(Unicode, LowerCaseIsWithoutContext) { EXPECT_EQ(lowercase("ÄΣΑΣ İ ẞ"), "äσασ i\u0307 ß"); }

TEST(Unicode, NormalFormsComposeAndDecompose) {
  EXPECT_EQ(normalize("e\u0301", NormalForm::nfc), "é");
  EXPECT_EQ(normalize("é", NormalForm::nfd), "e\u0301");
  EXPECT_EQ(normalize("ﬁ①", NormalForm::nfkc), "fi1");
  EXPECT_EQ(normalize("한", NormalForm::nfkd), "\u1112\u1161\u11AB");
}

TEST(Unicode, WhiteSpaceIsTheStandardsAndNotMore) {
  EXPECT_TRUE(is_whitespace(0x85));
  EXPECT_TRUE(is_whitespace(0x3000));
  EXPECT_FALSE(is_whitespace(0x180E));
  EXPECT_FALSE(is_whitespace(0x200B));
}

}  // namespace
}  // namespace wick
