// What a conversation's answer is held to: calls as the models' own templates write them, with arguments that fit, behind reasoning or not.
#include "wick/text/chat/chat_output_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "message_of.h"
#include "wick/base/error.h"
#include "wick/base/utf8.h"
#include "wick/text/chat/chat_parser.h"
#include "wick/text/chat/chat_template.h"
#include "wick/text/grammar/format_matcher.h"

namespace wick {
namespace {

using Json = nlohmann::ordered_json;
using Calls = ChatRules::Calls;
using testing::HasSubstr;

constexpr const char* kTools = R"([
  {"type": "function", "function": {"name": "get_weather", "description": "Says the weather.", "parameters": {"type": "object",
    "properties": {"city": {"type": "string", "enum": ["Paris", "Oslo", "New <York>"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
    "required": ["city", "days"], "additionalProperties": false}}},
  {"type": "function", "function": {"name": "ring", "description": "Rings a bell.", "parameters": {"type": "object", "properties": {
    "loud": {"type": "boolean"}}, "required": ["loud"], "additionalProperties": false}}},
  {"type": "function", "function": {"name": "post", "description": "Sends a letter.", "parameters": {"type": "object", "properties": {
    "zip": {"type": "string", "pattern": "^[0-9]{5}$"}, "name": {"type": "string", "minLength": 2, "maxLength": 6},
    "code": {"$ref": "#/$defs/code", "type": "string", "maxLength": 9}}, "required": ["zip", "name", "code"],
    "additionalProperties": false, "$defs": {"code": {"pattern": "<[a-z<]+>"}}}}}])";

struct Answer {
  std::string content, reasoning;
  std::vector<ToolCall> calls;
};

Answer parse(const std::string& format, bool in_reasoning, const std::string& text) {
  ChatParser parser({.format = format, .starts_in_reasoning = in_reasoning, .tools = kTools});
  std::vector<ChatEvent> events = parser.push(text);
  for (ChatEvent& event : parser.finish()) events.push_back(std::move(event));
  Answer answer;
  for (const ChatEvent& event : events) {
    if (event.kind == ChatEventKind::content) answer.content += event.text;
    if (event.kind == ChatEventKind::reasoning) answer.reasoning += event.text;
    if (event.kind == ChatEventKind::call_begin) answer.calls.push_back({.name = event.name});
    if (event.kind == ChatEventKind::arguments) answer.calls.back().arguments += event.text;
  }
  return answer;
}

// By hand, not by the schema compiler.
void expect_fits(const ToolCall& call, const std::string& text) {
  const Json arguments = Json::parse(call.arguments, nullptr, false);
  ASSERT_TRUE(arguments.is_object()) << call.arguments << " of " << text;
  if (call.name == "get_weather") {
    ASSERT_TRUE(arguments.size() == 2 && arguments.contains("city") && arguments.contains("days")) << call.arguments << " of " << text;
    EXPECT_TRUE(arguments["city"] == "Paris" || arguments["city"] == "Oslo" || arguments["city"] == "New <York>") << text;
    ASSERT_TRUE(arguments["days"].is_number_integer()) << text;
    EXPECT_TRUE(arguments["days"] >= 1 && arguments["days"] <= 9) << text;
  } else if (call.name == "post") {
    ASSERT_TRUE(arguments.size() == 3) << call.arguments << " of " << text;
    for (const char* name : {"zip", "name", "code"})
      ASSERT_TRUE(arguments.contains(name) && arguments[name].is_string()) << call.arguments << " of " << text;
    const auto zip = arguments["zip"].get<std::string>(), code = arguments["code"].get<std::string>();
    EXPECT_TRUE(zip.size() == 5 && zip.find_first_not_of("0123456789") == std::string::npos) << text;
    const size_t length = count_characters(arguments["name"].get<std::string>());
    EXPECT_TRUE(length >= 2 && length <= 6) << text;
    const size_t begin = code.find('<'), end = code.rfind('>');
    EXPECT_TRUE(begin != std::string::npos && end != std::string::npos && begin + 1 < end && count_characters(code) <= 9) << text;
  } else {
    EXPECT_EQ(call.name, "ring") << text;
    ASSERT_TRUE(arguments.size() == 1 && arguments.contains("loud")) << call.arguments << " of " << text;
    EXPECT_TRUE(arguments["loud"].is_boolean()) << text;
  }
}

std::vector<std::string> models() {
  return {"qwen3", "qwen3-coder", "glm", "llama3", "mistral", "deepseek", "kimi", "minimax", "gpt-oss", "lfm2", "gemma4"};
}

TEST(ChatOutput, RequiredCallsAreParsedAsCallsThatFit) {
  std::mt19937_64 random(7);
  for (const std::string& model : models()) {
    for (const bool parallel : {false, true}) {
      FormatMatcher matcher(*chat_output_format({.format = model, .calls = Calls::required, .tools = kTools, .parallel_calls = parallel}));
      int parsed = 0;
      for (int i = 0; i < 40; ++i) {
        const std::optional<std::string> text = matcher.sample(random, 600);
        if (!text) continue;
        const Answer answer = parse(model, false, *text);
        ASSERT_GE(answer.calls.size(), 1U) << *text;
        ASSERT_TRUE(parallel || answer.calls.size() == 1) << *text;
        EXPECT_EQ(answer.content, "") << *text;
        for (const ToolCall& call : answer.calls) expect_fits(call, *text);
        if (testing::Test::HasFailure()) return;
        ++parsed;
      }
      EXPECT_GT(parsed, 5) << model;
    }
  }
}

TEST(ChatOutput, TextsWithoutQuotesAreHeldToTheirSchemas) {
  const auto fits = [](const char* schema, std::string_view value) {
    const std::string tools = std::string(R"([{"function": {"name": "f", "parameters": {"properties": {"a": )") + schema + "}}}}]";
    const OutputFormat format = *chat_output_format({.format = "qwen3-coder", .calls = Calls::required, .tools = tools});
    const std::string call =
        "<tool_call>\n<function=f>\n<parameter=a>\n" + std::string(value) + "\n</parameter>\n</function>\n</tool_call>";
    return !FormatMatcher(format).mismatch(call);
  };
  EXPECT_TRUE(fits(R"({"type": "string"})", "any \"<b>text</b>\" of\nthree lines\n"));
  EXPECT_FALSE(fits(R"({"type": "string"})", "an end </parameter> in it"));
  EXPECT_TRUE(fits(R"({"type": "string", "pattern": "^a+b$"})", "aab"));
  EXPECT_FALSE(fits(R"({"type": "string", "pattern": "^a+b$"})", "aabb"));
  EXPECT_TRUE(fits(R"({"type": "string", "pattern": "\"q\""})", "a \"q\" b"));
  EXPECT_FALSE(fits(R"({"type": "string", "pattern": "\"q\""})", "a q b"));
  EXPECT_TRUE(fits(R"({"type": "string", "maxLength": 3})", "日本語"));
  EXPECT_FALSE(fits(R"({"type": "string", "maxLength": 3})", "日本語!"));
  EXPECT_TRUE(fits(R"({"type": "string", "maxLength": 0})", ""));
  EXPECT_FALSE(fits(R"({"type": "string", "minLength": 2})", "x"));
  EXPECT_TRUE(fits(R"({"type": "string", "minLength": 2, "maxLength": 1000})", std::string(1000, 'x')));
  EXPECT_FALSE(fits(R"({"type": "string", "minLength": 2, "maxLength": 1000})", std::string(1001, 'x')));
  EXPECT_TRUE(fits(R"({"type": "string", "enum": ["a\nb", "<c>", 3]})", "a\nb"));
  EXPECT_FALSE(fits(R"({"type": "string", "enum": ["a\nb", "<c>", 3]})", "3"));
  EXPECT_FALSE(fits(R"({"type": "string", "enum": ["ab", "cd"], "pattern": "c"})", "ab"));
  EXPECT_TRUE(fits(R"({"type": "string", "format": "date"})", "2024-02-29"));
  EXPECT_FALSE(fits(R"({"type": "string", "format": "date"})", "2024-13-01"));
  EXPECT_TRUE(fits(R"({"type": "string", "anyOf": [{"const": "x"}, {"pattern": "^y+$"}]})", "yy"));
  EXPECT_FALSE(fits(R"({"type": "string", "anyOf": [{"const": "x"}, {"pattern": "^y+$"}]})", "xy"));
  EXPECT_THAT(message_of([&] { (void)fits(R"({"type": "string", "maxLength": 1001})", ""); }), HasSubstr("supported up to 1000"));
  EXPECT_TRUE(fits(R"({"type": "string", "anyOf": [{"$ref": "#"}, {"const": "x"}], "maxLength": 2})", "yy"));
  EXPECT_FALSE(fits(R"({"type": "string", "anyOf": [{"$ref": "#"}, {"const": "x"}], "maxLength": 2})", "yyy"));
}

TEST(ChatOutput, AnAllowedCallFitsAndATextIsNoCall) {
  std::mt19937_64 random(8);
  for (const std::string& model : models()) {
    const OutputFormat format = *chat_output_format({.format = model, .calls = Calls::allowed, .tools = kTools, .parallel_calls = true});
    FormatMatcher matcher(format);
    for (int i = 0; i < 20; ++i) {
      const std::optional<std::string> text = matcher.sample(random, 400);
      if (!text) continue;
      for (const ToolCall& call : parse(model, false, *text).calls) expect_fits(call, *text);
      if (testing::Test::HasFailure()) return;
    }
    if (model == "gpt-oss") continue;
    for (const char* text : {"", "Sunny, {all} <of> it [today].", "Hm.\n\n* a list\n* \"{\"\n"})
      EXPECT_FALSE(matcher.mismatch(text)) << text;
  }
}

TEST(ChatOutput, ArgumentsComeInAnyOrderAndEachOnce) {
  constexpr const char* kThree =
      R"([{"function": {"name": "read", "parameters": {"type": "object", "properties": {"path": {"type": "string"},
    "limit": {"type": "integer"}, "offset": {"type": "integer"}, "more": {"type": "object", "properties": {"x": {"type": "integer"},
    "y": {"type": "integer"}}}}, "required": ["path"]}}}])";
  const auto fits = [&](const char* format, const std::string& text) {
    return !FormatMatcher(*chat_output_format({.format = format, .calls = Calls::required, .tools = kThree})).mismatch(text);
  };
  const auto json = [](const std::string& arguments) {
    return "<tool_call>\n{\"name\": \"read\", \"arguments\": " + arguments + "}\n</tool_call>";
  };
  EXPECT_TRUE(fits("qwen3", json(R"({"path": "a", "offset": 2, "limit": 1})")));
  EXPECT_TRUE(fits("qwen3", json(R"({"offset": 2, "path": "a"})")));
  EXPECT_TRUE(fits("qwen3", json(R"({"more": {"y": 1, "x": 2}, "path": "a"})")));
  EXPECT_FALSE(fits("qwen3", json(R"({"offset": 2})")));
  EXPECT_FALSE(fits("qwen3", json(R"({"path": "a", "path": "b"})")));
  const auto xml = [](const std::vector<std::pair<std::string, std::string>>& arguments) {
    std::string text = "<tool_call>\n<function=read>\n";
    for (const auto& [name, value] : arguments) text += "<parameter=" + name + ">\n" + value + "\n</parameter>\n";
    return text + "</function>\n</tool_call>";
  };
  EXPECT_TRUE(fits("qwen3-coder", xml({{"path", "a"}, {"offset", "2"}, {"limit", "1"}})));
  EXPECT_TRUE(fits("qwen3-coder", xml({{"more", R"({"y": 1, "x": 2})"}, {"path", "a"}})));
  EXPECT_FALSE(fits("qwen3-coder", xml({{"offset", "2"}})));
  EXPECT_FALSE(fits("qwen3-coder", xml({{"path", "a"}, {"path", "b"}})));
  EXPECT_TRUE(fits("glm",
                   "<tool_call>read\n<arg_key>offset</arg_key>\n<arg_value>2</arg_value>\n<arg_key>path</arg_key>\n"
                   "<arg_value>a</arg_value>\n</tool_call>"));
  EXPECT_TRUE(fits("glm", "<tool_call>read<arg_key>path</arg_key><arg_value>a</arg_value></tool_call>"));
}

TEST(ChatOutput, MorePropertiesThanAGroupCountsMayComeInAnyOrder) {
  std::string properties, text;
  for (int index = 0; index < 80; ++index) {
    properties += (index > 0 ? "," : "") + std::string("\"p") + std::to_string(index) + R"(":{"type":"integer"})";
    text += (index > 0 ? ", " : "") + std::string("\"p") + std::to_string(79 - index) + "\": 1";
  }
  const std::string tools =
      R"([{"function":{"name":"f","parameters":{"type":"object","properties":{)" + properties + R"(},"required":["p70"]}}}])";
  FormatMatcher matcher(*chat_output_format({.format = "qwen3", .calls = Calls::required, .tools = tools}));
  const auto call = [](const std::string& arguments) {
    return "<tool_call>\n{\"name\": \"f\", \"arguments\": {" + arguments + "}}\n</tool_call>";
  };
  EXPECT_FALSE(matcher.mismatch(call(text)));
  matcher.reset();
  EXPECT_TRUE(matcher.mismatch(call("\"p0\": 1")));
  matcher.reset();
  EXPECT_TRUE(matcher.mismatch(call("\"q\": 1")));
}

TEST(ChatOutput, TextsAreBareWhereverTheSchemaAllowsThem) {
  const auto fits = [](const char* schema, std::string_view value) {
    const std::string tools =
        std::string(R"([{"function": {"name": "f", "parameters": {"properties": {"a": )") + schema + R"(, "b": {"type": "string"}}}}}])";
    const OutputFormat format = *chat_output_format({.format = "qwen3-coder", .calls = Calls::required, .tools = tools});
    return !FormatMatcher(format).mismatch("<tool_call>\n<function=f>\n<parameter=a>\n" + std::string(value) +
                                           "\n</parameter>\n</function>\n</tool_call>");
  };
  for (const char* const schema : {R"({"anyOf": [{"type": "string"}, {"type": "null"}]})", R"({"type": ["string", "null"]})",
                                   R"({"oneOf": [{"type": "string"}, {"type": "integer"}]})", "{}"}) {
    EXPECT_TRUE(fits(schema, "new")) << schema;
    EXPECT_TRUE(fits(schema, "two\nlines \"quoted\"")) << schema;
  }
  EXPECT_TRUE(fits(R"({"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]})", "a"));
  EXPECT_TRUE(fits(R"({"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]})", "null"));
  EXPECT_FALSE(fits(R"({"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]})", "c"));
}

TEST(ChatOutput, ProseIsNotMaskedUntilACallHasBegun) {
  const auto fits = [](const char* format, std::string_view text) {
    return !FormatMatcher(*chat_output_format({.format = format, .calls = Calls::allowed, .tools = kTools})).mismatch(text);
  };
  // Without a vocabulary all marks are text.
  for (const char* const prose :
       {"It writes <function=ring> and <tool_call> in the middle of a line.", "<tool_call> is a mark", "<tool_call>\n<function=other>\n",
        "Use\n<function=NAME>\nwith a name.", "<functio", "<tool_call>\n<function=ring"}) {
    EXPECT_TRUE(fits("qwen3-coder", prose)) << prose;
  }
  EXPECT_FALSE(fits("qwen3-coder", "<tool_call>\n<function=ring>\nno parameter"));
  EXPECT_FALSE(fits("qwen3-coder", "Look.\n<tool_call>\n<function=ring>\nno parameter"));
  EXPECT_TRUE(fits("qwen3-coder", "Look.\n<tool_call>\n<function=ring>\n<parameter=loud>\ntrue\n</parameter>\n</function>\n</tool_call>"));
  EXPECT_TRUE(fits("qwen3", "Like so: <tool_call>{\"name\": \"ring\"} or <tool_call>\n{\"name\": \"other\"} here"));
  EXPECT_FALSE(fits("qwen3", "<tool_call>\n{\"name\": \"ring\", nothing"));
  EXPECT_TRUE(fits("llama3", "{\"name\": \"other\"} is JSON"));
  EXPECT_FALSE(fits("llama3", "{\"name\": \"ring\", \"x\"} is JSON"));
}

TEST(ChatOutput, ATextMayFollowCallsThatAreAllowed) {
  const auto fits = [](const char* format, const std::string& text, bool parallel = true, std::string_view prompt = "") {
    return !FormatMatcher(*chat_output_format({.format = format,
                                               .template_source = prompt.empty() ? "" : "… <think> …",
                                               .rendered = prompt,
                                               .calls = Calls::allowed,
                                               .tools = kTools,
                                               .parallel_calls = parallel}))
                .mismatch(text);
  };
  const std::string json = "<tool_call>\n{\"name\": \"ring\", \"arguments\": {\"loud\": true}}\n</tool_call>",
                    xml = "<tool_call>\n<function=ring>\n<parameter=loud>\ntrue\n</parameter>\n</function>\n</tool_call>",
                    keys = "<tool_call>ring\n<arg_key>loud</arg_key>\n<arg_value>true</arg_value>\n</tool_call>",
                    kimi =
                        "<|tool_calls_section_begin|><|tool_call_begin|>functions.ring:0<|tool_call_argument_begin|>{\"loud\": true}"
                        "<|tool_call_end|><|tool_calls_section_end|>";
  for (const auto& [format, call] : {std::pair("qwen3", json), {"qwen3-coder", xml}, {"glm", keys}, {"kimi", kimi}}) {
    EXPECT_TRUE(fits(format, call + "\n\nIt rings <now>.")) << format;
    EXPECT_TRUE(fits(format, "I ring.\n" + call + "It rings.\n" + call + "\n" + call + "\nDone.\n")) << format;
    EXPECT_TRUE(fits(format, "Why.\n" + call + "\nSo.</think>It rings.\n" + call + "Done.", true, "<think>")) << format;
    EXPECT_TRUE(fits(format, "Why.\n" + call, true, "<think>")) << format;
    // One call is the most: it ends the answer.
    EXPECT_TRUE(fits(format, "I ring.\n" + call + "\n", false)) << format;
    EXPECT_FALSE(fits(format, call + "\nIt rings.", false)) << format;
  }
}

TEST(ChatOutput, HundredsOfToolsAreHeldToTheirSchemas) {
  Json tools = Json::array();
  for (int index = 0; index < 400; ++index) {
    Json schema = {
        {"type", "object"}, {"properties", {{"path", {{"type", "string"}}}, {"n", {{"type", "integer"}}}}}, {"required", {"path"}}};
    tools.push_back({{"type", "function"}, {"function", {{"name", "tool_" + std::to_string(index)}, {"parameters", schema}}}});
  }
  for (const Calls calls : {Calls::allowed, Calls::required}) {
    FormatMatcher matcher(*chat_output_format({.format = "qwen3", .calls = calls, .tools = tools.dump()}));
    EXPECT_FALSE(matcher.mismatch("<tool_call>\n{\"name\": \"tool_399\", \"arguments\": {\"n\": 1, \"path\": \"a\"}}\n</tool_call>"));
    matcher.reset();
    EXPECT_TRUE(matcher.mismatch("<tool_call>\n{\"name\": \"tool_399\", \"arguments\": {\"n\": \"x\"}}\n</tool_call>"));
  }
}

TEST(ChatOutput, ReasoningComesFirstWhereTheModelReasons) {
  const OutputFormat number{.kind = OutputFormat::Kind::regex, .text = "[0-9]+"};
  const auto fits = [&](std::string_view source, std::string_view rendered, std::string_view text) {
    return !FormatMatcher(*chat_output_format({.template_source = source, .rendered = rendered, .answer = number})).mismatch(text);
  };
  EXPECT_TRUE(fits("", "", "42"));
  EXPECT_FALSE(fits("", "", "<think>x</think>42"));
  EXPECT_TRUE(fits("… <think> …", "", "<think>\nSix times <seven>.\n</think>\n\n42"));
  EXPECT_TRUE(fits("… <think> …", "", "42"));
  EXPECT_TRUE(fits("… <think> …", "assistant\n<think>\n", "Six.</think>42"));
  EXPECT_FALSE(fits("… <think> …", "assistant\n<think>\n", "42"));
  EXPECT_FALSE(fits("… <think> …", "assistant\n<think>\n\n</think>\n\n", "<think>x</think>42"));
  EXPECT_FALSE(fits("… <think> …", "", "<think>x</think>y"));
}

TEST(ChatOutput, OneFunctionAlone) {
  FormatMatcher matcher(*chat_output_format({.calls = Calls::required, .tools = kTools, .only = "ring"}));
  EXPECT_FALSE(matcher.mismatch("<tool_call>\n{\"name\": \"ring\", \"arguments\": {\"loud\": true}}\n</tool_call>"));
  EXPECT_TRUE(matcher.mismatch("<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 1}}\n</tool_call>"));
  EXPECT_THAT(message_of([] { (void)chat_output_format({.calls = Calls::required, .tools = kTools, .only = "sing"}); }),
              HasSubstr("no function sing"));
  EXPECT_THAT(message_of([] { (void)chat_output_format({.format = "plain", .calls = Calls::required, .tools = kTools}); }),
              HasSubstr("no form for calls"));
  EXPECT_FALSE(chat_output_format({.format = "plain", .calls = Calls::allowed, .tools = kTools}));
}

}  // namespace
}  // namespace wick
