#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "message_of.h"
#include "shared_data.h"
#include "source_root.h"
#include "wick/base/error.h"
#include "wick/text/grammar/format_matcher.h"

namespace wick {
namespace {

using Kind = OutputFormat::Kind;
using testing::HasSubstr;

bool fits(const OutputFormat& format, std::string_view text) { return !FormatMatcher(format).mismatch(text); }
bool matches(const std::string& pattern, std::string_view text) { return fits({.kind = Kind::regex, .text = pattern}, text); }
OutputFormat schema(const std::string& text) { return {.kind = Kind::json_schema, .text = text}; }
OutputFormat gbnf(const std::string& text) { return {.kind = Kind::grammar, .text = text}; }
std::string refusal(const OutputFormat& format) {
  return message_of([&] { FormatMatcher matcher(format); });
}

TEST(JsonSchema, AcceptsWhatPythonFindsValidAndNothingElse) {
  std::ifstream file(source_root() / "tests/data/text/schemas.tsv");
  int count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    const size_t first = line.find('\t');
    const size_t second = line.find('\t', first + 1);
    const std::string text = line.substr(first + 1, second - first - 1);
    const bool valid = line[0] == '1';
    for (const bool any : {false, true}) {
      OutputFormat format = schema(text);
      format.any_spelling = any;
      EXPECT_EQ(fits(format, line.substr(second + 1)), valid) << line;
    }
  }
  EXPECT_GT(count, 180);
}

TEST(JsonSchema, PropertiesComeInTheSchemasOrderUnlessAnySpellingIsAllowed) {
  OutputFormat format = schema(R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]})");
  EXPECT_FALSE(fits(format, R"({"b":1,"a":2})"));
  format.any_spelling = true;
  EXPECT_TRUE(fits(format, R"({"b":1,"a":2})"));
  EXPECT_TRUE(fits(format, R"({"b":1.0,"c":[{}],"a":2})"));
  EXPECT_FALSE(fits(format, R"({"b":1,"b":2})"));
}

TEST(JsonSchema, WhitespaceIsALineBreakWithIndentationOrOneSpace) {
  const char* const kSchema = R"({"type":"array","items":{"type":"integer"}})";
  EXPECT_TRUE(fits(schema(kSchema), "[\n  1,\n  2\n]"));
  EXPECT_TRUE(fits(schema(kSchema), "[ 1, 2 ]"));
  EXPECT_FALSE(fits(schema(kSchema), "[1,  2]"));
  OutputFormat compact = schema(kSchema);
  compact.whitespace = false;
  EXPECT_TRUE(fits(compact, "[1,2]"));
  EXPECT_FALSE(fits(compact, "[1, 2]"));
}

TEST(JsonSchema, WhatCannotBeEnforcedIsNamedByItsPointer) {
  const auto message = [](const char* text) { return refusal(schema(text)); };
  EXPECT_THAT(message(R"({"type":"array","uniqueItems":true})"), HasSubstr("#/uniqueItems"));
  EXPECT_THAT(message(R"({"properties":{"a/b":{"type":"array","items":{"type":"string"},"uniqueItems":true}}})"),
              HasSubstr("#/properties/a~1b/uniqueItems"));
  EXPECT_THAT(message(R"({"not":{"patternProperties":{"^a":{"type":"null"}}}})"), HasSubstr("#/not/patternProperties"));
  EXPECT_THAT(message(R"({"oneOf":[{"additionalProperties":false},{"type":"object"}]})"), HasSubstr("#/oneOf/0/additionalProperties"));
  EXPECT_THAT(message(R"({"if":{"type":"string","format":"date"},"then":{"minLength":1}})"), HasSubstr("#/if/format"));
  EXPECT_THAT(message(R"({"type":"array","contains":{},"minContains":5000})"), HasSubstr("#/contains"));
  EXPECT_THAT(message(R"({"type":"string","format":"shoe-size"})"), HasSubstr("#/format"));
  EXPECT_THAT(message(R"({"type":"string","pattern":"a(?=a)b"})"), HasSubstr("#/pattern"));
  EXPECT_THAT(message(R"({"type":"string","pattern":"(?=a)b"})"), HasSubstr("#/pattern"));
  EXPECT_THAT(message(R"({"type":"string","pattern":"^(?!a)b|c"})"), HasSubstr("#/pattern"));
  EXPECT_THAT(message(R"({"type":"string","pattern":"^(?!a"})"), HasSubstr("#/pattern"));
  EXPECT_THAT(message(R"({"$ref":"https://example.com/x.json"})"), HasSubstr("#/$ref"));
  EXPECT_THAT(message(R"({"$ref":0,"$differs":1})"), HasSubstr("#/$ref: must be a string"));
  EXPECT_THAT(message(R"({"type":"object","dependentRequired":{"a":"b"}})"), HasSubstr("#/dependentRequired/a"));
}

// What Pydantic and OpenAPI write, beside the names of JSON Schema.
TEST(JsonSchema, FormatsOfOthersAreKnown) {
  const auto takes = [](const std::string& format, const std::string& text) {
    return fits(schema(R"({"type":"string","format":")" + format + "\"}"), "\"" + text + "\"");
  };
  for (const auto& [format, text] : std::vector<std::pair<const char*, const char*>>{{"ipv4network", "10.0.0.0/8"},
                                                                                     {"ipv4network", "192.168.7.0/24"},
                                                                                     {"ipv6network", "2001:db8::/32"},
                                                                                     {"ipv4interface", "10.1.2.3/8"},
                                                                                     {"base64", "aGVsbG8="},
                                                                                     {"base64url", "_-8="},
                                                                                     {"byte", "+/8="},
                                                                                     {"path", "/etc/passwd"},
                                                                                     {"password", ""},
                                                                                     {"uuid4", "01234567-89ab-4def-8123-456789abcdef"},
                                                                                     {"uri-template", "/users/{id}{?page,size}"}}) {
    EXPECT_TRUE(takes(format, text)) << format << ' ' << text;
  }
  for (const auto& [format, text] : std::vector<std::pair<const char*, const char*>>{{"ipv4network", "10.0.0.1/8"},
                                                                                     {"base64", "aGVsbG9="},
                                                                                     {"base64", "aGVsbG8"},
                                                                                     {"base64url", "+/8="},
                                                                                     {"path", ""},
                                                                                     {"uuid4", "01234567-89ab-1def-8123-456789abcdef"},
                                                                                     {"uri-template", "{"}}) {
    EXPECT_FALSE(takes(format, text)) << format << ' ' << text;
  }
}

// Words that the compiler uses among its own mean nothing in a document.
TEST(JsonSchema, UnknownKeywordsSayNothing) {
  EXPECT_TRUE(fits(schema(R"({"type":"string","$differs":["a"],"$lacks":"a"})"), "\"a\""));
  EXPECT_TRUE(fits(schema(R"({"type":"integer","$noMultipleOf":2,"not":{"$differs":[1],"type":"string"}})"), "2"));
  EXPECT_THAT(refusal(schema(R"({"type":"$fraction"})")), HasSubstr("#/type"));
}

// A schema that is its own opposite means nothing; it must not take for ever.
TEST(JsonSchema, ParadoxesComeToAnEnd) {
  for (const char* text : {R"({"not":{"$ref":"#"}})", R"({"if":{"$ref":"#"},"then":false,"else":{"type":"string"}})",
                           R"({"type":"array","items":{"not":{"$ref":"#"}}})", R"({"oneOf":[{"$ref":"#"},{"not":{"$ref":"#"}}]})",
                           R"({"dependentSchemas":{"a":{"not":{"$ref":"#"}}}})", R"({"contains":{"not":{"$ref":"#"}},"maxContains":3})"}) {
    static_cast<void>(refusal(schema(text)));
  }
}

TEST(JsonSchema, WhatIsNoSchemaIsRefusedWithItsPlace) {
  const auto message = [](const std::string& text) { return refusal(schema(text)); };
  EXPECT_THAT(message("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(message("[]"), HasSubstr("must be a schema"));
  EXPECT_THAT(message(R"({"type":"strin"})"), HasSubstr("#/type"));
  EXPECT_THAT(message(R"({"not":{"type":"strin"}})"), HasSubstr("#/not/type"));
  EXPECT_THAT(message(R"({"items":{"minLength":-1}})"), HasSubstr("#/items/minLength"));
  EXPECT_THAT(message(R"({"$ref":"#/$defs/none"})"), HasSubstr("#/$ref"));
  EXPECT_THAT(message("\"\xFF\""), HasSubstr("not valid JSON"));
  EXPECT_THAT(message(std::string(100'000, '[')), HasSubstr("JSON"));
  EXPECT_THAT(message(R"({"type":"null","type":"null"})"), HasSubstr("the key 'type' is there twice"));
  std::string parts = R"({"allOf":[{"minimum":0})";
  for (int part = 1; part <= 1000; ++part) parts += R"(,{"minimum":)" + std::to_string(part) + "}";
  EXPECT_THAT(message(parts + "]}"), HasSubstr("#/allOf/1000: more than 1000 schemas must hold at once"));
  std::string deep = "{}";
  for (int level = 0; level < 400; ++level) deep = R"({"items":)" + deep + "}";
  EXPECT_THAT(message(deep), HasSubstr("deep"));
}

TEST(JsonSchema, WhatNothingFitsOrNeverEndsIsRefused) {
  for (const char* text :
       {"false", R"({"type":"string","enum":[1,2]})", R"({"type":"integer","minimum":5,"maximum":4})",
        R"({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]})", R"({"type":"array","minItems":2,"maxItems":1})",
        R"({"type":"array","items":{"$ref":"#"},"minItems":1})", R"({"allOf":[{"const":1},{"const":2}]})"}) {
    EXPECT_THAT(refusal(schema(text)), HasSubstr("no text fits")) << text;
  }
}

// `item(index)` for each index, with commas.
template <class Item>
std::string list_of(int count, const Item& item) {
  std::string list;
  for (int index = 0; index < count; ++index) list += (index > 0 ? "," : "") + item(std::to_string(index));
  return list;
}

TEST(JsonSchema, ThousandsOfBranchesThatAreToldApartAreExactlyOne) {
  const auto value = [](const std::string& number) { return R"({"title":"x","const":"v)" + number + "\"}"; };
  const OutputFormat values = schema(R"({"oneOf":[)" + list_of(3000, value) + "]}");
  EXPECT_TRUE(fits(values, "\"v2999\""));
  EXPECT_FALSE(fits(values, "\"v3000\""));
  const auto object = [](const std::string& number) {
    return R"({"type":"object","properties":{"kind":{"const":"k)" + number + R"("},"n":{"type":"integer"}},"required":["n","kind"]})";
  };
  const OutputFormat objects = schema(R"({"oneOf":[)" + list_of(1000, object) + "]}");
  EXPECT_TRUE(fits(objects, R"({"kind":"k999","n":5})"));
  EXPECT_FALSE(fits(objects, R"({"kind":"k1000","n":5})"));
  const auto part = [](const std::string& number) { return R"({"properties":{"kind":{"const":)" + number + R"(}},"required":["kind"]})"; };
  EXPECT_TRUE(fits(schema(R"({"type":"object","oneOf":[)" + list_of(1000, part) + "]}"), R"({"kind":999})"))
      << "the type is said beside them";
}

TEST(JsonSchema, BranchesThatShareAValueAreNotToldApart) {
  EXPECT_FALSE(fits(schema(R"({"oneOf":[{"enum":[1,2]},{"enum":[2.0,3]}]})"), "2"));
  EXPECT_FALSE(fits(schema(R"({"oneOf":[{"const":{"a":1,"b":2}},{"const":{"b":2,"a":1}},{"const":3}]})"), R"({"a":1,"b":2})"));
  EXPECT_FALSE(fits(
      schema(R"({"oneOf":[{"properties":{"a":{"const":1}},"required":["a"]},{"properties":{"a":{"const":2}},"required":["a"]}]})"), "5"))
      << "what is no object fits both";
}

TEST(JsonSchema, ObjectsThatDifferInOrderAreOneValue) {
  EXPECT_TRUE(fits(schema(R"({"allOf":[{"const":{"a":1,"b":[2]}},{"enum":[{"b":[2.0],"a":1},3]}]})"), R"({"a":1,"b":[2]})"));
}

TEST(JsonSchema, WholeNumbersOfAnySizeAreIntegers) {
  EXPECT_TRUE(fits(schema(R"({"type":"integer","enum":[1e300,5.0,"5"]})"), "1e+300"));
  EXPECT_TRUE(fits(schema(R"({"type":"integer","enum":[1e300,5.0,"5"]})"), "5"));
  EXPECT_FALSE(fits(schema(R"({"type":"integer","enum":[1e300,5.5]})"), "5.5"));
}

TEST(JsonSchema, FewPartsThatCombineInManyWaysAreRefused) {
  const auto named = [](const std::string& number) { return R"("p)" + number + R"(":["q)" + number + "\"]"; };
  EXPECT_THAT(refusal(schema(R"({"type":"object","dependentRequired":{)" + list_of(100, named) + "}}")),
              HasSubstr("#: its parts combine in too many ways"));
  const auto limits = [](const std::string& number) { return R"({"anyOf":[{"minimum":)" + number + R"(},{"maximum":1)" + number + "}]}"; };
  EXPECT_THAT(refusal(schema(R"({"allOf":[)" + list_of(20, limits) + "]}")), HasSubstr("its parts combine in too many ways"));
  const auto pattern = [](const std::string& number) { return R"({"type":"string","pattern":"^x)" + number + "a*$\"}"; };
  EXPECT_THAT(refusal(schema(R"({"oneOf":[)" + list_of(500, pattern) + "]}")), HasSubstr("its parts combine in too many ways"));
  const auto part = [](const std::string& number) {
    return R"({"type":"object","properties":{)" +
           list_of(50, [&](const std::string& name) { return "\"" + number + "_" + name + "\":{}"; }) + "}}";
  };
  EXPECT_THAT(refusal(schema(R"({"allOf":[)" + list_of(900, part) + "]}")), HasSubstr("its parts combine in too many ways"));
  const auto integer = [](const std::string&) { return std::string(R"({"type":"integer"})"); };
  EXPECT_THAT(refusal(schema(R"({"oneOf":[)" + list_of(101, integer) + "]}")),
              HasSubstr("#/oneOf: of more than 100 branches no two may overlap; take anyOf"));
  const auto zero = [](const std::string&) { return std::string("0"); };
  EXPECT_THAT(refusal(schema(R"({"not":{"const":[)" + list_of(301, zero) + "]}}")),
              HasSubstr("#/not/const: an array of more than 300 elements"));
  EXPECT_THAT(refusal(schema(R"({"not":{"prefixItems":[)" + list_of(301, integer) + "]}}")),
              HasSubstr("#/not/prefixItems: an array of more than 300 elements"));
}

TEST(JsonSchema, TwoHundredLinesCompileInMilliseconds) {
  std::string properties;
  for (int index = 0; index < 50; ++index) {
    const std::string name = "property_" + std::to_string(index);
    properties += (index > 0 ? "," : "") + ("\"" + name + R"(":{"type":["string","null"],"maxLength":200,"description":"x"})") + ",\"" +
                  name +
                  R"(_list":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer","minimum":0,"maximum":65535},)" +
                  R"("kind":{"enum":["a","b","c"]}},"required":["id"],"additionalProperties":false},"maxItems":10})";
  }
  const OutputFormat format = schema(R"({"type":"object","additionalProperties":false,"properties":{)" + properties + "}}");
  const auto start = std::chrono::steady_clock::now();
  FormatMatcher matcher(format);
  // 50 ms is the aim (bench/constraint_bench.cpp measures it); a loaded machine and a debug build take longer.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  EXPECT_FALSE(matcher.mismatch(R"({"property_7_list": [{"id": 65535, "kind": "b"}], "property_9": null})"));
  EXPECT_TRUE(matcher.mismatch(R"({"property_7_list": [{"id": 65536}]})"));
}

TEST(RegexFormat, MatchesTheWholeText) {
  EXPECT_TRUE(matches("a|bc", "bc"));
  EXPECT_FALSE(matches("a|bc", "abc"));
  EXPECT_TRUE(matches("^(a|b)+$", "abba"));
  EXPECT_TRUE(matches("[^\\d\\s]{2}", "é日"));
  EXPECT_TRUE(matches("\\p{Lu}\\p{Ll}*", "Öl"));
  EXPECT_TRUE(matches("(?<year>\\d{4})-(?:0[1-9]|1[0-2])", "2024-12"));
  EXPECT_TRUE(matches("\\u{1F642}|\\uD83D\\uDE43", "🙂"));
  EXPECT_TRUE(matches("a{2,}?b{0}c{,2}", "aaac{,2}"));
  EXPECT_FALSE(matches(".", "\n"));
}

TEST(RegexFormat, LargeRepetitionsTakeNoSpace) {
  EXPECT_TRUE(matches("(ab?){3,90000}", std::string(50'000, 'a')));
  EXPECT_FALSE(matches("(ab?){3,90000}",
                       "aab"
                       "b"));
  EXPECT_TRUE(matches("((a{1,1000}b){1,1000}c){1,1000}", "aabaabcabc"));
  // 2^21 states if it were made deterministic.
  EXPECT_TRUE(matches("(a|b)*a(a|b){20}", "bbba" + std::string(20, 'b')));
  EXPECT_FALSE(matches("(a|b)*a(a|b){20}", "bbbb" + std::string(20, 'b')));
}

TEST(RegexFormat, WhatCannotBeEnforcedIsNamedWithItsPlace) {
  const auto message = [](const char* pattern) { return refusal({.kind = Kind::regex, .text = pattern}); };
  EXPECT_THAT(message("a(?=b)"), HasSubstr("byte 1 of the pattern: a lookahead"));
  EXPECT_THAT(message("(a)\\1"), HasSubstr("reference"));
  EXPECT_THAT(message("\\bx"), HasSubstr("word boundary"));
  EXPECT_THAT(message("a^b"), HasSubstr("byte 1"));
  EXPECT_THAT(message("(a"), HasSubstr("'(' without ')'"));
  EXPECT_THAT(message("[a"), HasSubstr("'[' without ']'"));
  EXPECT_THAT(message("a{2,1}"), HasSubstr("m above n"));
  EXPECT_THAT(message("*a"), HasSubstr("nothing to repeat"));
  EXPECT_THAT(message("\\q"), HasSubstr("means nothing"));
  EXPECT_THAT(message("\xFF"), HasSubstr("UTF-8"));
  EXPECT_THAT(refusal({.kind = Kind::regex, .text = std::string(1000, '(')}), HasSubstr("nested too deeply"));
}

TEST(Gbnf, FixturesTakeTheirTextsAndNoOthers) {
  struct Example {
    const char* file;
    std::vector<std::string> good, bad;
  };
  const std::vector<Example> examples = {
      {"arithmetic", {"x = 1\n", "1 +2*y = (3 )\nz=4\n"}, {"x = 1", "x == 1\n", "\n"}},
      {"c", {"", "int f(int x){return x;}", "int m(){if(a==1){x = 2;}else{y = 3;}}"}, {"int", "f(){}"}},
      {"chess", {"1. e4 e5\n2. Nf3 Nc6\n", "1. O-O exd8=Q+\n12. a1 b2\n"}, {"1. e4 e5\n", "2. e4 e5\n"}},
      {"english", {"Hello, world!", "a"}, {"", "é", "a  b"}},
      {"japanese", {"こんにちは 世界", "カ"}, {"a", ""}},
      {"json", {R"({"a": [1, -2.5e3, "x\u00e9", {}], "b":null})", "{\n  }"}, {"[1]", "{", R"({"a":01})"}},
      {"json_arr", {"[\n1,\n2]", "[\n]"}, {"[1]", "{}"}},
      {"list", {"- a\n", "- x y\n- é\n"}, {"- a", "-a\n", "- a\u2028b\n"}},
  };
  for (const Example& example : examples) {
    const auto path = shared_data(std::string("data/fixtures/grammars/") + example.file + ".gbnf");
    if (!path) GTEST_SKIP() << kSharedDataMissing;
    std::stringstream content;
    content << std::ifstream(*path).rdbuf();
    FormatMatcher matcher(gbnf(content.str()));
    for (const std::string& text : example.good) EXPECT_FALSE(matcher.mismatch(text)) << example.file << ": " << text;
    for (const std::string& text : example.bad) EXPECT_TRUE(matcher.mismatch(text)) << example.file << ": " << text;
  }
}

TEST(Gbnf, HasRepetitionsEscapesClassesAndComments) {
  const OutputFormat format =
      gbnf("# all of it\nroot ::= a{2} b{,2} \"\\x41\\u00e9\\U0001F642\\n\\\"\" [^a-c\\]] . # end\na ::= \"x\" |\n  \"y\"\nb ::= \"b\"");
  EXPECT_TRUE(fits(format, "xybAé🙂\n\"z\n"));
  EXPECT_FALSE(fits(format, "xybAé🙂\n\"az"));
  EXPECT_FALSE(fits(format, "xbAé🙂\n\"zz"));
}

TEST(Gbnf, FaultsAreNamedByLineAndColumn) {
  EXPECT_THAT(refusal(gbnf("root ::= a\n")), HasSubstr("line 1, column 10: rule 'a' is used and not defined"));
  EXPECT_THAT(refusal(gbnf("a ::= \"x\"")), HasSubstr("root"));
  EXPECT_THAT(refusal(gbnf("root ::= \"x\"\nroot ::= \"y\"")), HasSubstr("line 2"));
  EXPECT_THAT(refusal(gbnf("root ::= (\"x\"")), HasSubstr("'(' without ')'"));
  EXPECT_THAT(refusal(gbnf("root ::= \"x")), HasSubstr("without a second one"));
  EXPECT_THAT(refusal(gbnf("root ::= <none>")), HasSubstr("not a token"));
  EXPECT_THAT(refusal(gbnf("root ::= root \"x\" | \"y\"")), HasSubstr("left recursion"));
  EXPECT_THAT(refusal(gbnf("root ::= b? root | \"y\"\nb ::= \"\"")), HasSubstr("left recursion"));
  EXPECT_THAT(refusal(gbnf("root ::= \"x\" root")), HasSubstr("no text fits"));
  EXPECT_THAT(refusal(gbnf("root ::= " + std::string(5000, '('))), HasSubstr("nested too deeply"));
}

TEST(Choices, AreTakenWholeAndMayBeginAlike) {
  const OutputFormat format{.kind = Kind::choices, .choices = {"yes", "yes, sir", "no"}};
  EXPECT_TRUE(fits(format, "yes"));
  EXPECT_TRUE(fits(format, "yes, sir"));
  EXPECT_FALSE(fits(format, "yes,"));
  EXPECT_THAT(refusal({.kind = Kind::choices}), HasSubstr("empty"));
}

TEST(Formats, CanBePartsOfOthers) {
  const OutputFormat format{
      .kind = Kind::sequence,
      .parts = {{.kind = Kind::literal, .text = "<call>"},
                {.kind = Kind::any_of, .parts = {schema(R"({"const":1})"), {.kind = Kind::choices, .choices = {"a"}}}},
                {.kind = Kind::literal, .text = "</call>"}}};
  EXPECT_TRUE(fits(format, "<call>1</call>"));
  EXPECT_TRUE(fits(format, "<call>a</call>"));
  EXPECT_FALSE(fits(format, "<call>b</call>"));
}

TEST(Formats, AmbiguousTextsAreReadInAllWaysAtOnce) {
  const OutputFormat format = gbnf("root ::= s\ns ::= \"a\" s \"b\" | \"a\" s | \"a\"");
  EXPECT_TRUE(fits(format, std::string(60, 'a') + std::string(20, 'b')));
  EXPECT_FALSE(fits(format,
                    "aab"
                    "bb"));
}

TEST(Formats, DeepTextsTakeNoRecursion) {
  FormatMatcher matcher(gbnf("root ::= \"[\" root? \"]\" \"x\"?"));
  EXPECT_FALSE(matcher.mismatch(std::string(9000, '[') + std::string(9000, ']')));
}

}  // namespace
}  // namespace wick
