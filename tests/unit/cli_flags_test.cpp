// What flags and lists on the command line mean.
#include "wick/cli/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "wick/base/error.h"
#include "wick/cli/text_format.h"
#include "wick/cli/text_input.h"

namespace wick {
namespace {

using testing::HasSubstr;

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

struct Parsed {
  int64_t count = 3;
  float share = 0.5F;
  std::string text = "none";
  std::vector<std::string> several;
  bool flag = false;
  bool goes_on = false;
  std::string out;
  std::string error;
};

Parsed parse(const Arguments& arguments) {
  Parsed parsed;
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  const Console console{.name = "tool", .executable = {}, .in = in, .out = out, .err = err};
  Flags flags("Does things.", console);
  flags.add_integer("--count", "a count", parsed.count, 1, 10);
  flags.add_decimal("--share", "a share", parsed.share, 0, 1);
  flags.add_value("--text", "TEXT", "a text", [&](const std::string& text) { parsed.text = text; });
  flags.add_values("--several", "TEXT", "texts", parsed.several);
  flags.add_switch("--flag", "a flag", parsed.flag);
  flags.footer(examples({"tool --count 3"}));
  parsed.error = error_of([&] { parsed.goes_on = flags.parse(arguments); });
  parsed.out = out.str();
  return parsed;
}

TEST(Flags, ValuesComeThrough) {
  const Parsed parsed = parse({"--count", "7", "--share=0.25", "--text", "a b", "--flag"});
  EXPECT_EQ(parsed.error, "no error");
  EXPECT_TRUE(parsed.goes_on);
  EXPECT_EQ(parsed.count, 7);
  EXPECT_EQ(parsed.share, 0.25F);
  EXPECT_EQ(parsed.text, "a b");
  EXPECT_TRUE(parsed.flag);
}

TEST(Flags, TextsMayBeEmptyOrLookLikeFlags) {
  EXPECT_EQ(parse({"--text", ""}).text, "");
  const Parsed parsed = parse({"--text=", "--flag"});
  EXPECT_EQ(parsed.text, "");
  EXPECT_TRUE(parsed.flag);
  EXPECT_EQ(parse({"--text", "--count"}).text, "--count");
  EXPECT_EQ(parse({"--text", "-1"}).text, "-1");
  EXPECT_THAT(parse({"--several", "[a,b]", "--several", "c"}).several, testing::ElementsAre("[a,b]", "c"));
}

TEST(Flags, TheLastOfSeveralValuesCounts) { EXPECT_EQ(parse({"--count", "1", "--count", "2"}).count, 2); }

TEST(Flags, NumbersOutsideTheirRangeNameFlagValueAndRange) {
  EXPECT_EQ(parse({"--count", "0"}).error, "--count 0: must be from 1 to 10");
  EXPECT_EQ(parse({"--count", "99999999999999999999"}).error, "--count 99999999999999999999: must be from 1 to 10");
  EXPECT_EQ(parse({"--count", "1.5"}).error, "--count '1.5': not a whole number; it must be from 1 to 10");
  EXPECT_EQ(parse({"--share", "1.5"}).error, "--share 1.5: must be from 0 to 1");
  EXPECT_THAT(parse({"--share", "nan"}).error, HasSubstr("--share 'nan'"));
  EXPECT_THAT(parse({"--share", "half"}).error, HasSubstr("not a number"));
}

TEST(Flags, UnknownFlagsStrayArgumentsAndMissingValuesAreErrors) {
  EXPECT_EQ(parse({"--cuont", "3"}).error, "unknown flag '--cuont'; tool --help lists what there is");
  EXPECT_EQ(parse({"stray"}).error, "unexpected argument 'stray'; tool --help lists what there is");
  EXPECT_EQ(parse({"--count"}).error, "--count: its value is missing; see tool --help");
}

TEST(Flags, HelpHasExamplesAndExitCodes) {
  const Parsed parsed = parse({"--help"});
  EXPECT_FALSE(parsed.goes_on);
  EXPECT_EQ(parsed.error, "no error");
  EXPECT_THAT(parsed.out,
              testing::AllOf(HasSubstr("--count"), HasSubstr("Examples:"), HasSubstr("tool --count 3"), HasSubstr("Exit codes: 0")));
}

TEST(Flags, SeedsHave64Bits) {
  EXPECT_EQ(parse_seed("--seed", "18446744073709551615"), 18446744073709551615U);
  EXPECT_THROW((void)parse_seed("--seed", "18446744073709551616"), Error);
  EXPECT_THROW((void)parse_seed("--seed", "-1"), Error);
}

TEST(TextInput, TokensAreReadInEverySpelling) {
  for (const char* text : {"0,5,9", "[0,5,9]", " [ 0, 5 ,9 ]\n", "0 5\n9"}) {
    EXPECT_THAT(parse_tokens(text, "list"), testing::ElementsAre(0, 5, 9)) << text;
  }
  EXPECT_TRUE(parse_tokens("[]", "list").empty());
  EXPECT_TRUE(parse_tokens(" ", "list").empty());
}

TEST(TextInput, BrokenTokenListsAreErrorsWithTheirPlace) {
  EXPECT_THAT(error_of([] { (void)parse_tokens("0,x", "--tokens"); }), HasSubstr("--tokens: no token id at byte 2"));
  EXPECT_THAT(error_of([] { (void)parse_tokens("0;5", "--tokens"); }), HasSubstr("';' at byte 1"));
  EXPECT_THAT(error_of([] { (void)parse_tokens("0,,5", "--tokens"); }), HasSubstr("byte 2"));
  EXPECT_THAT(error_of([] { (void)parse_tokens("0,", "--tokens"); }), HasSubstr("comma"));
  EXPECT_THAT(error_of([] { (void)parse_tokens("[0", "--tokens"); }), HasSubstr("']'"));
  EXPECT_THAT(error_of([] { (void)parse_tokens("99999999999", "--tokens"); }), HasSubstr("byte 0"));
}

TEST(TextFormat, NumbersAreShort) {
  EXPECT_EQ(format_bytes(0), "0 bytes");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(uint64_t{3} << 30), "3.0 GiB");
  EXPECT_EQ(format_count(260032), "260.0 K");
}

}  // namespace
}  // namespace wick
