// What a conversation's answer is held to: calls as the models' own templates write them, with arguments that fit, behind reasoning or not.
#include "wick/text/chat/chat_output_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "message_of.h"
#include "shared_data.h"
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

struct Model {
  std::string format, sign;  // what its template holds
};
std::vector<Model> models() {
  return {{"hermes", "<tool_call>"},   {"hermes", "<function="},  {"hermes", "<arg_key>"}, {"llama3", ""}, {"mistral", ""},
          {"mistral", "[ARGS]"},       {"deepseek", ""},          {"deepseek", "```json"}, {"kimi", ""},   {"deepseek", "｜DSML｜"},
          {"minimax", "<invoke name"}, {"gpt-oss", "<|channel|>"}};
}

TEST(ChatOutput, RequiredCallsAreParsedAsCallsThatFit) {
  std::mt19937_64 random(7);
  for (const Model& model : models()) {
    for (const bool parallel : {false, true}) {
      FormatMatcher matcher(*chat_output_format(
          {.format = model.format, .template_source = model.sign, .calls = Calls::required, .tools = kTools, .parallel_calls = parallel}));
      int parsed = 0;
      for (int i = 0; i < 40; ++i) {
        const std::optional<std::string> text = matcher.sample(random, 400);
        if (!text) continue;
        const Answer answer = parse(model.format, false, *text);
        ASSERT_GE(answer.calls.size(), 1U) << *text;
        ASSERT_TRUE(parallel || answer.calls.size() == 1) << *text;
        EXPECT_EQ(answer.content, "") << *text;
        for (const ToolCall& call : answer.calls) expect_fits(call, *text);
        if (testing::Test::HasFailure()) return;
        ++parsed;
      }
      EXPECT_GT(parsed, 10) << model.format << model.sign;
    }
  }
}

TEST(ChatOutput, TextsWithoutQuotesAreHeldToTheirSchemas) {
  const auto fits = [](const char* schema, std::string_view value) {
    const std::string tools = std::string(R"([{"function": {"name": "f", "parameters": {"properties": {"a": )") + schema + "}}}}]";
    const OutputFormat format = *chat_output_format({.template_source = "<function=", .calls = Calls::required, .tools = tools});
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
  for (const Model& model : models()) {
    const OutputFormat format = *chat_output_format(
        {.format = model.format, .template_source = model.sign, .calls = Calls::allowed, .tools = kTools, .parallel_calls = true});
    FormatMatcher matcher(format);
    for (int i = 0; i < 20; ++i) {
      const std::optional<std::string> text = matcher.sample(random, 400);
      if (!text) continue;
      for (const ToolCall& call : parse(model.format, false, *text).calls) expect_fits(call, *text);
      if (testing::Test::HasFailure()) return;
    }
    if (model.format == "gpt-oss") continue;
    for (const char* text : {"", "Sunny, {all} <of> it [today].", "Hm.\n\n* a list\n* \"{\"\n"})
      EXPECT_FALSE(matcher.mismatch(text)) << text;
  }
}

TEST(ChatOutput, CallsOfTheModelsOwnTemplatesAreAccepted) {
  const auto folder = shared_data("data/templates");
  if (!folder) GTEST_SKIP() << kSharedDataMissing;
  const char* const files[] = {"Qwen-Qwen3-0.6B",
                               "Qwen3.5-4B",
                               "GLM-4.6",
                               "MiniMax-M2",
                               "moonshotai-Kimi-K2",
                               "deepseek-ai-DeepSeek-V3.2",
                               "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B",
                               "meta-llama-Llama-3.3-70B-Instruct",
                               "mistralai-Ministral-3-14B-Reasoning-2512",
                               "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use"};
  for (const char* const file : files) {
    std::ifstream stream(*folder / (std::string(file) + ".jinja"));
    const std::string source((std::istreambuf_iterator<char>(stream)), {});
    const ChatTemplate chat_template = ChatTemplate::parse(source, file);
    ChatPrompt prompt{.messages = {{.role = "user", .content = "How is the weather?"}}, .tools = kTools, .add_generation_prompt = false};
    prompt.messages.push_back(
        {.role = "assistant",
         .content = "",
         .tool_calls = {{.id = "functions.get_weather:0", .name = "get_weather", .arguments = R"({"city": "Paris", "days": 3})"}}});
    const std::string text = chat_template.render(prompt);
    FormatMatcher matcher(*chat_output_format({.format = detect_chat_format(source),
                                               .template_source = source,
                                               .rendered = "<think></think>",
                                               .calls = Calls::required,
                                               .tools = kTools,
                                               .parallel_calls = false}));
    bool found = false;
    for (size_t begin = text.rfind("How is the weather?"); begin < text.size() && !found; ++begin) {
      matcher.reset();
      for (size_t at = begin; at < text.size() && !found && matcher.accept(static_cast<uint8_t>(text[at])); ++at) found = matcher.can_end();
    }
    EXPECT_TRUE(found) << file << ":\n" << text.substr(text.rfind("How is the weather?"));
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
  FormatMatcher matcher(*chat_output_format({.template_source = "", .calls = Calls::required, .tools = kTools, .only = "ring"}));
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
