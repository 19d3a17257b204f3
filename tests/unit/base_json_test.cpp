// JSON to and from text, against RFC 8259 and RFC 3629.
#include "wick/base/json.h"

#include <gtest/gtest.h>

#include <string>

namespace wick {
namespace {

TEST(Json, KeysAreSortedOrStayInTheirOrder) {
  constexpr const char* kText = R"({"b":1,"a":[true,null,2.5]})";
  EXPECT_EQ(json_text(parse_json(kText)), R"({"a":[true,null,2.5],"b":1})");
  EXPECT_EQ(json_text(parse_ordered_json(kText)), kText);
}

TEST(Json, WhatIsNoJsonIsDiscardedOrThrown) {
  for (const char* text : {"", " ", "{", "[1,]", "{\"a\":1,}", "01", "1 2", "'a'", "nul", "\"\n\"", "\"\\x\"", "\xff"}) {
    EXPECT_TRUE(parse_json(text).is_discarded()) << text;
    EXPECT_TRUE(parse_ordered_json(text).is_discarded()) << text;
    EXPECT_FALSE(is_json(text)) << text;
    EXPECT_THROW(static_cast<void>(parse_json(text, /*throws=*/true)), nlohmann::json::parse_error) << text;
  }
}

TEST(Json, AnyValueIsAText) {
  for (const char* text : {"0", "-1.5e3", "\"a\"", "null", " true ", "[]", "{}"}) EXPECT_TRUE(is_json(text)) << text;
}

TEST(Json, OfTwoEqualKeysTheLastOneHolds) { EXPECT_EQ(parse_json(R"({"a":1,"a":2})")["a"], 2); }

TEST(Json, InvalidUtf8IsReplaced) {
  EXPECT_EQ(json_text(nlohmann::json("a\xff"
                                     "b")),
            "\"a\xef\xbf\xbd"
            "b\"");
}

TEST(Json, AsciiEscapesAllOtherCharacters) { EXPECT_EQ(ascii_json_text(nlohmann::json("ä𝄞")), R"("\u00e4\ud834\udd1e")"); }

TEST(Json, IndentsOneElementALine) { EXPECT_EQ(json_text(nlohmann::json{{"a", {1, 2}}}, 2), "{\n  \"a\": [\n    1,\n    2\n  ]\n}"); }

TEST(Json, EventsEndWhereOneOfThemStops) {
  class Keys final : public nlohmann::json_sax<nlohmann::json> {
   public:
    std::string seen;

    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool start_object(size_t) override { return true; }
    bool key(string_t& name) override {
      seen += name;
      return name != "stop";
    }
    bool end_object() override { return true; }
    bool start_array(size_t) override { return true; }
    bool end_array() override { return true; }
    bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }
  };
  Keys keys;
  EXPECT_FALSE(parse_json_events(R"({"a":1,"stop":2,"b":3})", keys));
  EXPECT_EQ(keys.seen, "astop");
  Keys all;
  EXPECT_TRUE(parse_json_events(R"({"a":{"b":[]}})", all));
  EXPECT_EQ(all.seen, "ab");
}

}  // namespace
}  // namespace wick
