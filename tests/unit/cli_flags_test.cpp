// What flags and lists on the command line mean.
#include "wick/cli/flags/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "unit/message_of.h"
#include "unit/temporary_folder.h"
#include "wick/base/error.h"
#include "wick/base/suggest.h"
#include "wick/cli/text_format.h"
#include "wick/cli/text_input.h"

namespace wick {
namespace {

using testing::HasSubstr;

struct Parsed {
  int64_t count = 3;
  float share = 0.5F;
  std::string text = "none";
  std::vector<std::string> several;
  bool flag = false;
  bool goes_on = false;
  std::string out;
  std::string err;
  std::string error;
};

Parsed parse(const Arguments& arguments, const std::map<std::string, std::string>& environment = {}) {
  Parsed parsed;
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  Console console{.name = "tool", .executable = {}, .in = in, .out = out, .err = err, .environment = environment};
  Flags flags("Does things.", console);
  flags.add_integer("-n,--count,--number,--cnt", "a count", parsed.count, 1, 10);
  flags.add_decimal("--share", "a share", parsed.share, 0, 1);
  flags.add_value("--text", "TEXT", "a text", [&](const std::string& text) { parsed.text = text; });
  flags.add_values("--several", "TEXT", "texts", parsed.several);
  flags.add_switch("--flag", "a flag", parsed.flag);
  flags.examples({"tool --count 3"});
  parsed.error = message_of([&] { parsed.goes_on = flags.parse(arguments); });
  parsed.out = out.str();
  parsed.err = err.str();
  return parsed;
}

TEST(Flags, ValuesComeThrough) {
  const Parsed parsed = parse({"--count", "7", "--share=0.25", "--text", "a b", "--flag"});
  EXPECT_EQ(parsed.error, "nothing was thrown");
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

TEST(Flags, OneValueIsGivenOnce) {
  EXPECT_EQ(parse({"--count", "1", "-n", "2"}).error, "--count is given 2 times and takes one value; give it once");
  EXPECT_EQ(parse({"--text", "a", "--text", "a", "--text="}).error, "--text is given 3 times and takes one value; give it once");
  EXPECT_EQ(parse({"--flag", "--flag=false"}).error, "--flag is given 2 times and takes one value; give it once");
  const Parsed parsed = parse({"--several", "a", "--several", "b", "--flag", "--flag"});
  EXPECT_THAT(parsed.several, testing::ElementsAre("a", "b"));
  EXPECT_TRUE(parsed.flag);
}

TEST(Flags, LettersAndAliasesAreTheSameFlag) {
  EXPECT_EQ(parse({"-n", "7"}).count, 7);
  EXPECT_EQ(parse({"-n7"}).count, 7);
  EXPECT_EQ(parse({"--number", "7"}).count, 7);
  EXPECT_EQ(parse({"--number=7"}).count, 7);
  EXPECT_EQ(parse({"-cnt", "7"}).count, 7);
  EXPECT_EQ(parse({"--flag", "-cnt", "7"}).count, 7);
  EXPECT_EQ(parse({"--text", "-cnt"}).text, "-cnt");
  EXPECT_EQ(parse({"--", "-cnt"}).count, 3);
  EXPECT_EQ(parse({"--number", "0"}).error, "--count 0: must be from 1 to 10");
}

TEST(Flags, TheCommandLineWinsOverTheEnvironmentAndThatOverTheFile) {
  const TemporaryFolder folder;
  const std::string file = (folder / "wick.toml").string();
  std::ofstream(file)
      << "# comment\ncount = 2\n[run]\ncount = 3\ntext = \"a, b # c\"\nseveral = [\"x y\", \"z\"]\nflag = true\n[chat]\ncount = 9\n";
  const Parsed from_file = parse({"--config", file});
  EXPECT_EQ(from_file.error, "nothing was thrown");
  EXPECT_EQ(from_file.count, 3);  // the section is about this command alone
  EXPECT_EQ(from_file.text, "a, b # c");
  EXPECT_THAT(from_file.several, testing::ElementsAre("x y", "z"));
  EXPECT_TRUE(from_file.flag);
  EXPECT_EQ(parse({}, {{"WICK_CONFIG", file}}).count, 3);
  const std::map<std::string, std::string> variables = {{"WICK_COUNT", "4"}, {"WICK_FLAG", "off"}, {"WICK_TEXT", ""}};
  const Parsed from_environment = parse({"--config", file}, variables);
  EXPECT_EQ(from_environment.count, 4);
  EXPECT_FALSE(from_environment.flag);
  EXPECT_EQ(from_environment.text, "a, b # c");  // an empty variable is an unset one
  EXPECT_EQ(parse({"--config", file, "--count", "5"}, variables).count, 5);
  EXPECT_EQ(parse({"--count", "5"}, variables).err, "");
}

TEST(Flags, ValuesFromElsewhereAreCheckedAndNameTheirOrigin) {
  EXPECT_EQ(parse({}, {{"WICK_COUNT", "11"}}).error, "WICK_COUNT: --count 11: must be from 1 to 10");
  EXPECT_EQ(parse({}, {{"WICK_FLAG", "perhaps"}}).error, "WICK_FLAG: --flag 'perhaps': must be true or false");
  const TemporaryFolder folder;
  const std::string file = (folder / "wick.toml").string();
  const auto error_with = [&](const std::string& text) {
    std::ofstream(file) << text;
    const Parsed parsed = parse({"--config", file});
    return parsed.error + parsed.err;
  };
  EXPECT_EQ(error_with("count = 0\n"), file + ": --count 0: must be from 1 to 10");
  EXPECT_EQ(error_with("[run]\ncuont = 2\n"), file + ": 'cuont' is no flag of tool (did you mean --count?)");
  EXPECT_EQ(error_with("cuont = 2\n"), file + ": 'cuont' is no flag of tool (did you mean --count?)");
  EXPECT_EQ(error_with("count 2\n"), file + ": 'count 2' is not NAME = VALUE; begin a comment with #, a section with [");
  EXPECT_EQ(error_with("[rnu]\ncount = 2\n"), file + ": section [rnu] is no subcommand (did you mean run?)");
  for (const std::string section : {"run.x", "gguf", "gguf.set.x", "a.a.a", "tool"}) {
    EXPECT_THAT(error_with("[" + section + "]\ncount = 2\n"), HasSubstr(file + ": section [" + section + "] is no subcommand"));
  }
  EXPECT_THAT(error_with("[run]\ntext = a b\n"), HasSubstr("'text' has 2 values and takes one"));
  EXPECT_THAT(error_with("count = 1\ntext = \"x\"\ncount = 2\n"), HasSubstr("'count' is set twice"));
  EXPECT_THAT(parse({"--config", (folder / "none.toml").string()}).error, HasSubstr("no such file"));
}

TEST(Flags, DepthAndSizeOfAConfigurationAreBounded) {
  const TemporaryFolder folder;
  const std::string file = (folder / "wick.toml").string();
  const auto error_with = [&](const std::string& text) {
    std::ofstream(file) << text;
    return parse({"--config", file}).error;
  };
  const auto repeated = [](std::string_view text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
  };
  const std::string deep = "a" + repeated(".a", 2999);
  EXPECT_EQ(error_with("count = 2\n[" + deep + "]\n"),
            file + ": line 2: a section within 2999 others; the deepest that Wick has are like [gguf.split]");
  for (const std::string& line :
       {"[[" + deep + "]]", "  [ " + deep + " ]  ", deep + " = 1", deep, "\"" + deep + "\" = 1", deep + "=[\n1\n]"}) {
    EXPECT_THAT(error_with(line + "\ncount = 2\n"), HasSubstr("line 1: a section within")) << line.substr(0, 20);
  }
  // Left out without a word before: CLI11 passes over what is deeper than it may be.
  EXPECT_THAT(error_with("[run.a.b.c]\nd.e.f.g.count = 2\n"), testing::Not(HasSubstr("section within")));
  EXPECT_THAT(error_with("[run.a.b.c]\nd.e.f.g.h.count = 2\n"), HasSubstr("line 2: a section within"));
  // Dots in values and comments are none of names.
  const std::string dots = repeated("a.", 100);
  std::ofstream(file) << "# " << dots << "\ntext = \"[" << dots << "]\"\nseveral = [\"x\",\n\"[" << dots << "]\",\n[" << dots
                      << "]\ncount = 2\n";
  const Parsed parsed = parse({"--config", file});
  EXPECT_EQ(parsed.text, "[" + dots + "]");
  EXPECT_EQ(parsed.count, 2) << parsed.error;
  EXPECT_THAT(error_with("several = [" + repeated("1,", 100000) + "1]\n"), HasSubstr("a configuration file has at most 65536"));
}

TEST(Flags, UnknownNamesGetTheNearestKnownOne) {
  const std::vector<std::string> known = {"--model", "--max-tokens", "--min-p", "--temperature"};
  EXPECT_EQ(suggest("--modle", known), "--model");
  EXPECT_EQ(suggest("--max_tokens", known), "--max-tokens");
  EXPECT_EQ(suggest("--temprature", known), "--temperature");
  EXPECT_EQ(suggest("--max", known), "--max-tokens");
  EXPECT_EQ(suggest("--zebra", known), "");
  EXPECT_EQ(edit_distance("abcd", "acbd"), 1U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
}

TEST(Flags, NumbersOutsideTheirRangeNameFlagValueAndRange) {
  EXPECT_EQ(parse({"--count", "0"}).error, "--count 0: must be from 1 to 10");
  EXPECT_EQ(parse({"--count", "99999999999999999999"}).error,
            "--count 99999999999999999999: more than 64 bits hold; it must be from 1 to 10");
  EXPECT_EQ(parse({"--count", "1.5"}).error, "--count '1.5': not a whole number; it must be from 1 to 10");
  EXPECT_EQ(parse({"--share", "1.5"}).error, "--share 1.5: must be from 0 to 1");
  EXPECT_THAT(parse({"--share", "nan"}).error, HasSubstr("--share 'nan'"));
  EXPECT_THAT(parse({"--share", "half"}).error, HasSubstr("not a number"));
}

TEST(Flags, UnknownFlagsStrayArgumentsAndMissingValuesAreErrors) {
  EXPECT_EQ(parse({"--cuont", "3"}).error, "unknown flag '--cuont' (did you mean --count?); tool --help lists the flags");
  EXPECT_EQ(parse({"stray"}).error, "unexpected argument 'stray'; tool --help lists the flags");
  EXPECT_EQ(parse({"--count"}).error, "--count: its value is missing; see tool --help");
}

TEST(Flags, HelpHasExamplesAndExitCodes) {
  const Parsed parsed = parse({"--help"});
  EXPECT_FALSE(parsed.goes_on);
  EXPECT_EQ(parsed.error, "nothing was thrown");
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
  EXPECT_THAT(message_of([] { (void)parse_tokens("0,x", "--tokens"); }), HasSubstr("--tokens: no token id at byte 2"));
  EXPECT_THAT(message_of([] { (void)parse_tokens("0;5", "--tokens"); }), HasSubstr("';' at byte 1"));
  EXPECT_THAT(message_of([] { (void)parse_tokens("0,,5", "--tokens"); }), HasSubstr("byte 2"));
  EXPECT_THAT(message_of([] { (void)parse_tokens("0,", "--tokens"); }), HasSubstr("comma"));
  EXPECT_THAT(message_of([] { (void)parse_tokens("[0", "--tokens"); }), HasSubstr("']'"));
  EXPECT_THAT(message_of([] { (void)parse_tokens("99999999999", "--tokens"); }), HasSubstr("byte 0"));
}

TEST(TextFormat, NumbersAreShort) {
  EXPECT_EQ(format_bytes(0), "0 bytes");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(uint64_t{3} << 30), "3.0 GiB");
  EXPECT_EQ(format_count(260032), "260.0 K");
}

}  // namespace
}  // namespace wick
