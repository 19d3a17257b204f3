// Reasoning and tool calls in what models write. The outputs are written as the formats' own definitions (model cards, chat templates)
// have them; the named complaints are those that users of other servers made.
#include "wick/text/chat/chat_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "wick/base/error.h"
#include "wick/base/utf8.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {
namespace {

using EventKind = ChatEventKind;

// A conversation turn as a client puts it together.
struct Call {
  std::string id, name, arguments;
  bool ended = false;
  friend bool operator==(const Call&, const Call&) = default;
};
struct Turn {
  std::string content, reasoning;
  std::vector<Call> calls;
  friend bool operator==(const Turn&, const Turn&) = default;
};
std::ostream& operator<<(std::ostream& out, const Turn& turn) {
  out << "content '" << turn.content << "' reasoning '" << turn.reasoning << "'";
  for (const Call& call : turn.calls) out << " [" << call.id << " " << call.name << " " << call.arguments << (call.ended ? "]" : " …");
  return out;
}

std::vector<ChatEvent> joined(const std::vector<ChatEvent>& events) {
  std::vector<ChatEvent> result;
  for (const ChatEvent& event : events) {
    const bool text = event.kind != EventKind::call_begin && event.kind != EventKind::call_end;
    if (text && !result.empty() && result.back().kind == event.kind && result.back().call == event.call) {
      result.back().text += event.text;
    } else {
      result.push_back(event);
    }
  }
  return result;
}

std::vector<ChatEvent> run(const ChatParserOptions& options, const std::vector<std::string>& pieces) {
  ChatParser parser(options);
  std::vector<ChatEvent> events;
  for (const std::string& piece : pieces) {
    for (ChatEvent& event : parser.push(piece)) {
      EXPECT_TRUE(is_valid_utf8(event.text)) << event.text;
      events.push_back(std::move(event));
    }
  }
  for (ChatEvent& event : parser.finish()) events.push_back(std::move(event));
  return joined(events);
}

Turn assemble(const std::vector<ChatEvent>& events) {
  Turn turn;
  for (const ChatEvent& event : events) {
    switch (event.kind) {
      case EventKind::content: turn.content += event.text; break;
      case EventKind::reasoning: turn.reasoning += event.text; break;
      case EventKind::call_begin: turn.calls.push_back({event.id, event.name, ""}); break;
      case EventKind::arguments: turn.calls.at(static_cast<size_t>(event.call)).arguments += event.text; break;
      case EventKind::call_end: turn.calls.at(static_cast<size_t>(event.call)).ended = true; break;
    }
  }
  return turn;
}

struct Recorded {
  const char* what;
  ChatParserOptions options;
  std::string text;
  Turn expected;
};

ChatParserOptions format(const char* name, bool reasoning = false, const char* tools = "") {
  return {.format = name, .starts_in_reasoning = reasoning, .tools = tools};
}

Turn turn(std::string content, std::string reasoning, std::vector<Call> calls = {}) {
  for (Call& call : calls) call.ended = true;
  return {std::move(content), std::move(reasoning), std::move(calls)};
}

const std::vector<Recorded>& recorded() {
  static const std::vector<Recorded> kAll = {
      {"plain", format("plain"), "Hello <b>there</b>, {\"name\": 1} [x] \n", turn("Hello <b>there</b>, {\"name\": 1} [x] \n", "")},
      {"reasoning", format("plain"), "<think>\nHm, é🙂.\n</think>\n\nIt is so.\n", turn("It is so.\n", "Hm, é🙂.")},
      {"reasoning that the prompt opened", format("hermes", true), "Hm.\n</think>\n\nSo.", turn("So.", "Hm.")},
      {"reasoning opened twice", format("hermes", true), "<think>\nHm.</think>So.", turn("So.", "Hm.")},
      {"reasoning without an end", format("hermes"), "<think>Hm", turn("", "Hm")},
      {"hermes", format("hermes"),
       "I look.\n<tool_call>\n{\"name\": \"get\", \"arguments\": {\"town\": \"Z\\u00fcrich\", \"n\": [1, {\"a\": \"}\"}]}}\n</tool_call>",
       turn("I look.", "", {{"call_0", "get", "{\"town\": \"Z\\u00fcrich\", \"n\": [1, {\"a\": \"}\"}]}"}})},
      {"two calls", format("hermes"),
       "<tool_call>\n{\"name\": \"a\", \"arguments\": {}}\n</tool_call>\n<tool_call>\n{\"name\": \"b\", \"arguments\": {\"x\": "
       "1}}\n</tool_call>\nDone.",
       turn("Done.", "", {{"call_0", "a", "{}"}, {"call_1", "b", "{\"x\": 1}"}})},
      {"arguments before the name", format("hermes"), "<tool_call>{\"arguments\": {\"x\": 1}, \"name\": \"b\"}</tool_call>",
       turn("", "", {{"call_0", "b", "{\"x\": 1}"}})},
      {"arguments as a string", format("hermes"),
       "<tool_call>{\"name\": \"b\", \"arguments\": \"{\\\"x\\\": \\\"\\u00e9\\\"}\"}</tool_call>",
       turn("", "", {{"call_0", "b", "{\"x\": \"é\"}"}})},
      {"an id", format("hermes"), "<tool_call>{\"id\": \"q7\", \"name\": \"b\", \"arguments\": {}}</tool_call>",
       turn("", "", {{"q7", "b", "{}"}})},
      {"a call without arguments", format("hermes"), "<tool_call>{\"name\": \"now\"}</tool_call>", turn("", "", {{"call_0", "now", "{}"}})},
      {"a call as OpenAI writes it", format("hermes"),
       "<tool_call>{\"type\": \"function\", \"function\": {\"name\": \"f\", \"arguments\": {\"a\": 1}}}</tool_call>",
       turn("", "", {{"call_0", "f", "{\"a\": 1}"}})},
      {"a call inside of reasoning", format("hermes"),
       "<think>I need it.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\nMore.</think>So.",
       turn("So.", "I need it.More.", {{"call_0", "f", "{}"}})},
      {"a call in reasoning that never ends", format("hermes", true),
       "Hm.\n<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 2}}</tool_call>", turn("", "Hm.", {{"call_0", "f", "{\"a\": 2}"}})},
      {"a call right behind reasoning", format("hermes"), "<think>Hm.</think><tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>",
       turn("", "Hm.", {{"call_0", "f", "{}"}})},
      {"a call without its end", format("hermes"), "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}",
       turn("", "", {{"call_0", "f", "{\"a\": 1}"}})},
      {"a call that is cut off", format("hermes"),
       "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": ", turn("", "", {{"call_0", "f", "{\"a\": "}})},
      {"no call after all", format("hermes"), "<tool_call>[1] is a tag", turn("<tool_call>[1] is a tag", "")},
      {"half a tag", format("hermes"), "1 <tool", turn("1 <tool", "")},
      {"no JSON", format("hermes"), "<tool_call>{oops}</tool_call>", turn("<tool_call>{oops}", "")},
      {"qwen3-coder", format("qwen3-coder"),
       "Sure.\n<tool_call>\n<function=set>\n<parameter=text>\ntwo\nlines "
       "<b>\n</parameter>\n<parameter=n>\n5\n</parameter>\n<parameter=l>\n[1, \"x\"]\n</parameter>\n</function>\n</tool_call>",
       turn("Sure.", "", {{"call_0", "set", "{\"text\": \"two\\nlines <b>\", \"n\": 5, \"l\": [1, \"x\"]}"}})},
      {"xml without parameters", format("xml"), "<tool_call>\n<function=now>\n</function>\n</tool_call>",
       turn("", "", {{"call_0", "now", "{}"}})},
      {"xml without tool_call", format("xml"), "<function=f>\n<parameter=a>\nx\n</parameter>\n</function>",
       turn("", "", {{"call_0", "f", "{\"a\": \"x\"}"}})},
      {"xml with a schema",
       format("xml", false, R"([{"type":"function","function":{"name":"f","parameters":{"properties":{"zip":{"type":"string"}}}}}])"),
       "<tool_call>\n<function=f>\n<parameter=zip>\n8000\n</parameter>\n<parameter=n>\n8000\n</parameter>\n</function>\n</tool_call>",
       turn("", "", {{"call_0", "f", "{\"zip\": \"8000\", \"n\": 8000}"}})},
      {"glm", format("glm"),
       "<think>Hm</think>\n<tool_call>get_weather\n<arg_key>town</arg_key>\n<arg_value>Bern</arg_value>\n<arg_key>days</"
       "arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
       turn("", "Hm", {{"call_0", "get_weather", "{\"town\": \"Bern\", \"days\": 3}"}})},
      {"llama3", format("llama3"), "{\"name\": \"get\", \"parameters\": {\"town\": \"Bern\"}}",
       turn("", "", {{"call_0", "get", "{\"town\": \"Bern\"}"}})},
      {"llama3, two", format("llama3"), "{\"name\": \"a\", \"parameters\": {}}; {\"name\": \"b\", \"parameters\": {\"x\": \"1\"}}",
       turn("", "", {{"call_0", "a", "{}"}, {"call_1", "b", "{\"x\": \"1\"}"}})},
      {"llama3, python tag", format("llama3"), "<|python_tag|>{\"name\": \"a\", \"parameters\": {\"q\": 1}}",
       turn("", "", {{"call_0", "a", "{\"q\": 1}"}})},
      {"llama3, builtin", format("llama3"), "<|python_tag|>brave_search.call(query=\"a, b=c\", n=3)",
       turn("", "", {{"call_0", "brave_search", "{\"query\": \"a, b=c\", \"n\": 3}"}})},
      {"llama3, code", format("llama3"), "<|python_tag|>print({1: \"x\"})\n",
       turn("", "", {{"call_0", "python", "{\"code\":\"print({1: \\\"x\\\"})\"}"}})},
      {"llama3, function tag", format("llama3"), "<function=get>{\"town\": \"Bern\"}</function>",
       turn("", "", {{"call_0", "get", "{\"town\": \"Bern\"}"}})},
      {"llama3, JSON that is no call", format("llama3"), "{\"town\": \"Bern\"} is JSON", turn("{\"town\": \"Bern\"} is JSON", "")},
      {"llama3, JSON in a text", format("llama3"), "See {\"name\": \"x\"}", turn("See {\"name\": \"x\"}", "")},
      {"mistral, old", format("mistral"),
       "[TOOL_CALLS] [{\"name\": \"get\", \"arguments\": {\"t\": \"[B]\"}, \"id\": \"abcdefghi\"}, {\"name\": \"now\", \"arguments\": {}}]",
       turn("", "", {{"call_0", "get", "{\"t\": \"[B]\"}"}, {"call_1", "now", "{}"}})},
      {"mistral, new", format("mistral"), "Look.[TOOL_CALLS]get_weather[ARGS]{\"town\": \"Bern\"}[TOOL_CALLS]now[ARGS]{}",
       turn("Look.", "", {{"call_0", "get_weather", "{\"town\": \"Bern\"}"}, {"call_1", "now", "{}"}})},
      {"mistral, new with id", format("mistral"), "[TOOL_CALLS]get[CALL_ID]abcdefghi[ARGS]{\"a\": 1}",
       turn("", "", {{"abcdefghi", "get", "{\"a\": 1}"}})},
      {"mistral, new without ARGS", format("mistral"), "[TOOL_CALLS]get{\"a\": 1}", turn("", "", {{"call_0", "get", "{\"a\": 1}"}})},
      {"mistral, no arguments", format("mistral"), "[TOOL_CALLS]now", turn("", "", {{"call_0", "now", "{}"}})},
      {"mistral, reasoning", format("mistral"), "[THINK]Hm.[/THINK]So.[TOOL_CALLS]f[ARGS]{}", turn("So.", "Hm.", {{"call_0", "f", "{}"}})},
      {"deepseek r1", format("deepseek", true),
       "Hm.\n</think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{\"town\": "
       "\"Bern\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜><"
       "｜tool▁calls▁end｜>",
       turn("", "Hm.", {{"call_0", "get_weather", "{\"town\": \"Bern\"}"}, {"call_1", "now", "{}"}})},
      {"deepseek v3.1", format("deepseek"),
       "Look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get<｜tool▁sep｜>{\"a\": \"b c\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
       turn("Look.", "", {{"call_0", "get", "{\"a\": \"b c\"}"}})},
      {"deepseek v3.2", format("deepseek"),
       "Look.\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get\">\n<｜DSML｜parameter name=\"town\" "
       "string=\"true\">12</｜DSML｜parameter>\n<｜DSML｜parameter name=\"n\" "
       "string=\"false\">12</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
       turn("Look.", "", {{"call_0", "get", "{\"town\": \"12\", \"n\": 12}"}})},
      {"kimi", format("kimi"),
       "Look.<|tool_calls_section_begin|><|tool_call_begin|>functions.get:0<|tool_call_argument_begin|>{\"a\": "
       "1}<|tool_call_end|><|tool_call_begin|>functions.now:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
       turn("Look.", "", {{"functions.get:0", "get", "{\"a\": 1}"}, {"functions.now:1", "now", "{}"}})},
      {"minimax", format("minimax"),
       "<think>Hm</think>\n<minimax:tool_call>\n<invoke name=\"get\">\n<parameter name=\"town\">Bern</parameter>\n<parameter "
       "name=\"n\">2</parameter>\n</invoke>\n</minimax:tool_call>",
       turn("", "Hm", {{"call_0", "get", "{\"town\": \"Bern\", \"n\": 2}"}})},
      {"gpt-oss", format("gpt-oss"),
       "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>It is so.<|return|>",
       turn("It is so.", "Hm.")},
      {"gpt-oss, call", format("gpt-oss"),
       "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.get "
       "<|constrain|>json<|message|>{\"a\": 1}<|call|>",
       turn("", "Hm.", {{"call_0", "get", "{\"a\": 1}"}})},
      {"gpt-oss, preamble", format("gpt-oss"),
       "<|channel|>commentary<|message|>I look it up.<|end|><|start|>assistant to=functions.now<|channel|>commentary<|message|>{}<|call|>",
       turn("I look it up.", "", {{"call_0", "now", "{}"}})},
      {"gpt-oss, plain text", format("gpt-oss"), "No header", turn("No header", "")},
  };
  return kAll;
}

TEST(ChatParser, RecordedOutputsAreUnderstood) {
  for (const Recorded& each : recorded())
    EXPECT_EQ(assemble(run(each.options, {each.text})), each.expected) << each.what << ": " << each.text;
}

TEST(ChatParser, EventsDoNotDependOnHowTheTextIsCut) {
  std::mt19937_64 random(25);
  for (const Recorded& each : recorded()) {
    const std::vector<ChatEvent> whole = run(each.options, {each.text});
    std::vector<std::string> bytes;
    for (const char byte : each.text) bytes.emplace_back(1, byte);
    EXPECT_EQ(run(each.options, bytes), whole) << each.what;
    for (size_t cut = 1; cut < each.text.size(); ++cut) {
      EXPECT_EQ(run(each.options, {each.text.substr(0, cut), each.text.substr(cut)}), whole) << each.what << " cut at " << cut;
    }
    for (int round = 0; round < 20; ++round) {
      std::vector<std::string> pieces;
      for (size_t at = 0; at < each.text.size();) {
        const size_t length = 1 + random() % 12;
        pieces.push_back(each.text.substr(at, length));
        at += length;
      }
      EXPECT_EQ(run(each.options, pieces), whole) << each.what;
    }
  }
}

TEST(ChatParser, EventsOfRandomTextsDoNotDependOnHowTheyAreCut) {
  std::vector<std::string> parts = {"<think>",
                                    "</think>",
                                    "<tool_call>",
                                    "</tool_call>",
                                    "{",
                                    "}",
                                    "\"name\": \"f\"",
                                    ", \"arguments\": {\"a\": 1}",
                                    "[TOOL_CALLS]",
                                    "[ARGS]",
                                    "<function=f>",
                                    "<parameter=p>",
                                    "</parameter>",
                                    "</function>",
                                    "<|channel|>",
                                    "analysis",
                                    "<|message|>",
                                    "<|end|>",
                                    "<|call|>",
                                    "to=functions.g",
                                    "<｜tool▁calls▁begin｜>",
                                    "<｜tool▁call▁begin｜>",
                                    "function<｜tool▁sep｜>n\n```json\n",
                                    "\n```<｜tool▁call▁end｜>",
                                    "<|python_tag|>",
                                    "x",
                                    " ",
                                    "\n",
                                    "é",
                                    "🙂",
                                    "<",
                                    "\"",
                                    "\\"};
  std::mt19937_64 random(7);
  for (const std::string_view name : chat_formats()) {
    for (int round = 0; round < 300; ++round) {
      std::string text;
      for (size_t count = random() % 14; count > 0; --count) text += parts[random() % parts.size()];
      const ChatParserOptions options{.format = std::string(name), .starts_in_reasoning = random() % 3 == 0, .tools = ""};
      std::vector<std::string> bytes;
      for (const char byte : text) bytes.emplace_back(1, byte);
      const std::vector<ChatEvent> whole = run(options, {text});
      EXPECT_EQ(run(options, bytes), whole) << name << ": " << text;
      int64_t open = -1;
      for (const ChatEvent& event : whole) {
        if (event.kind == EventKind::call_begin) open = event.call;
        if (event.kind == EventKind::arguments || event.kind == EventKind::call_end) {
          EXPECT_EQ(event.call, open);
        }
      }
    }
  }
}

TEST(ChatParser, NameCutInTwoComesOnce) {
  const auto events = run(format("hermes"), {"<tool_call>{\"name\": \"get_wea", "ther\", \"arguments\": {}}</tool_call>"});
  ASSERT_GE(events.size(), 1u);
  EXPECT_EQ(events[0].name, "get_weather");
}

TEST(ChatParser, ArgumentsStreamAsTheyComeIn) {
  ChatParser parser(format("hermes"));
  (void)parser.push("<tool_call>{\"name\": \"f\", \"arguments\": {\"text\": \"");
  const auto events = parser.push("some words");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, EventKind::arguments);
  EXPECT_EQ(events[0].text, "some words");
}

TEST(ChatParser, TextStreamsAsItComesIn) {
  ChatParser parser(format("hermes"));
  const auto events = parser.push("Hello");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].text, "Hello");
}

TEST(ChatParser, PromptsThatOpenReasoningAreSeen) {
  const CallSyntax plain;
  EXPECT_TRUE(ends_in_reasoning("<|im_start|>assistant\n<think>\n", plain));
  EXPECT_FALSE(ends_in_reasoning("<think>\n\n</think>\n\n", plain));
  EXPECT_FALSE(ends_in_reasoning("<|channel>thought\n", plain));
  EXPECT_TRUE(ends_in_reasoning("<|channel>thought\n", {.reasoning_begin = "<|channel>thought\n", .reasoning_end = "<channel|>"}));
}

// --- Arguments ---

std::string arguments_of(const char* name, const std::string& text, const std::string& schema) {
  const std::string tools = R"([{"type":"function","function":{"name":"f","parameters":)" + schema + "}}]";
  const Turn turn = assemble(run(format(name, false, tools.c_str()), {text}));
  return turn.calls.size() == 1 ? turn.calls[0].arguments : "no call: " + turn.content;
}
std::string in_xml(const std::string& value) {
  return "<tool_call>\n<function=f>\n<parameter=a>\n" + value + "\n</parameter>\n</function>\n</tool_call>";
}
std::string with_a(const std::string& schema) { return R"({"type":"object","properties":{"a":)" + schema + "}}"; }

TEST(ChatParser, TextIsBareWhereverTheSchemaAllowsOne) {
  const char* const schemas[] = {R"({"type":"string"})",
                                 R"({"anyOf":[{"type":"string"},{"type":"null"}]})",
                                 R"({"oneOf":[{"type":"null"},{"type":"string"}]})",
                                 R"({"type":["string","null"]})",
                                 R"({"allOf":[{"type":["string","null"]}]})",
                                 R"({"$ref":"#/properties/b"})",
                                 R"({"enum":["new","old",null]})",
                                 "{}",
                                 "true"};
  for (const char* const schema : schemas) {
    const std::string whole = R"({"type":"object","properties":{"a":)" + std::string(schema) + R"(,"b":{"type":"string"}}})";
    EXPECT_EQ(arguments_of("xml", in_xml("new"), whole), R"({"a": "new"})") << schema;
    EXPECT_EQ(arguments_of("xml", in_xml("\"new\""), whole), R"({"a": "\"new\""})") << schema;
  }
  const std::string text_or_null = with_a(schemas[1]);
  EXPECT_EQ(arguments_of("xml", in_xml("null"), text_or_null), R"({"a": null})");
  EXPECT_EQ(arguments_of("xml", in_xml("12"), text_or_null), R"({"a": "12"})");
  EXPECT_EQ(arguments_of("xml", in_xml("null"), with_a(R"({"type":"string"})")), R"({"a": "null"})");
  EXPECT_EQ(arguments_of("xml", in_xml("12"), with_a("{}")), R"({"a": 12})");
  EXPECT_EQ(arguments_of("xml", in_xml("True"), with_a(R"({"type":"boolean"})")), R"({"a": true})");
}

TEST(ChatParser, WhiteSpaceOfTextsIsKept) {
  const std::string text = with_a(R"({"type":"string"})");
  EXPECT_EQ(arguments_of("xml", in_xml("    return 1\n"), text), R"({"a": "    return 1\n"})");
  EXPECT_EQ(arguments_of("xml", in_xml("\n\n x \n\n"), text), R"({"a": "\n\n x \n\n"})");
  EXPECT_EQ(arguments_of("xml", in_xml(""), text), R"({"a": ""})");
  const auto in_glm = [](const std::string& value) {
    return "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>" + value + "</arg_value>\n</tool_call>";
  };
  EXPECT_EQ(arguments_of("glm", in_glm("    return 1\n"), text), R"({"a": "    return 1\n"})");
  EXPECT_EQ(arguments_of("glm", in_glm("\n"), text), R"({"a": "\n"})");
  EXPECT_EQ(arguments_of("glm", "<tool_call>f<arg_key>a</arg_key><arg_value> x</arg_value></tool_call>", text), R"({"a": " x"})");
}

TEST(ChatParser, NotationsThatAreNotJsonBecomeJson) {
  const std::string any = R"({"type":"object"})";
  EXPECT_EQ(
      arguments_of("gemma4", "<|tool_call>call:f{a:<|\"|>x}, y:1\n<|\"|>,b:12,c:[1,<|\"|>z<|\"|>],d:{e:true,g:null}}<tool_call|>", any),
      R"({"a": "x}, y:1\n", "b": 12, "c": [1, "z"], "d": {"e": true, "g": null}})");
  EXPECT_EQ(arguments_of("lfm2", "<|tool_call_start|>[f(a=\"x)]\", b=12, c=[1, 'z'], d={'e': True}, g=None)]<|tool_call_end|>", any),
            R"({"a": "x)]", "b": 12, "c": [1, "z"], "d": {"e": true}, "g": null})");
  EXPECT_EQ(arguments_of("lfm2", "<|tool_call_start|>[f()]<|tool_call_end|>", any), "{}");
}

// --- Marks that are tokens, and marks that are text ---

std::shared_ptr<const Tokenizer> tokenizer_with(const std::vector<std::pair<std::string, bool>>& added) {
  std::string vocab, more;
  for (int byte = 0x21; byte < 0x7F; ++byte) {
    const std::string letter = byte == '"' ? "\\\"" : byte == '\\' ? "\\\\" : std::string(1, static_cast<char>(byte));
    vocab += "\"" + letter + "\":" + std::to_string(byte) + ",";
  }
  int id = 200;
  for (const auto& [text, special] : added) {
    more += (more.empty() ? "" : ",") + std::string(R"({"id":)") + std::to_string(id++) + R"(,"content":")" + text + R"(","special":)" +
            (special ? "true" : "false") + "}";
  }
  return Tokenizer::parse(R"({"added_tokens":[)" + more +
                              R"(],"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},"decoder":{"type":"ByteLevel"},)"
                              R"("model":{"type":"BPE","vocab":{)" +
                              vocab + R"("Ġ":1,"Ċ":2},"merges":[]}})",
                          "test");
}

TEST(ChatParser, TextThatIsSpelledLikeAMarkBeginsNoCallWhereTheMarkIsAToken) {
  const char* const call = "{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call>";
  const char* const tools = R"([{"type":"function","function":{"name":"f"}}])";
  for (const bool special : {true, false}) {
    const auto tokenizer = tokenizer_with({{"<tool_call>", special}, {"</tool_call>", special}});
    ChatParserOptions options = format("qwen3", false, tools);
    options.tokenizer = tokenizer.get();
    const std::string prose = "<tool_call>" + std::string(call);
    EXPECT_EQ(assemble(run(options, {prose})).content, prose);
    ChatParser parser(options);
    std::vector<ChatEvent> events = parser.push("Look: ");
    const TokenId mark = *tokenizer->find_token("<tool_call>");
    for (ChatEvent& event : parser.push(mark, special ? "" : "<tool_call>")) events.push_back(std::move(event));
    for (ChatEvent& event : parser.push(call)) events.push_back(std::move(event));
    for (ChatEvent& event : parser.finish()) events.push_back(std::move(event));
    const Turn read = assemble(joined(events));
    EXPECT_EQ(read.content, "Look:");
    ASSERT_EQ(read.calls.size(), 1U);
    EXPECT_EQ(read.calls[0].arguments, "{\"a\": 1}");
  }
}

TEST(ChatParser, NamesOfToolsMayHoldWhatEndsAName) {
  for (const std::string name : {"say \"hi\"", "a b", "f(x)", "<b>", "it's", "a/b:c", "{}"}) {
    const std::string tools = R"([{"function":{"name":)" + nlohmann::ordered_json(name).dump() + R"(}},{"function":{"name":"a"}}])";
    for (const auto& [form, call] :
         {std::pair("minimax", "<minimax:tool_call>\n<invoke name=\"" + name + "\">\n</invoke>\n</minimax:tool_call>"),
          {"mistral", "[TOOL_CALLS]" + name + "[ARGS]{}"},
          {"qwen3-coder", "<tool_call>\n<function=" + name + ">\n</function>\n</tool_call>"}}) {
      const Turn turn = assemble(run(format(form, false, tools.c_str()), {call}));
      ASSERT_EQ(turn.calls.size(), 1U) << call;
      EXPECT_EQ(turn.calls[0].name, name) << call;
      EXPECT_EQ(turn.content, "") << call;
    }
  }
}

TEST(ChatParser, MarksThatAreTextBeginACallInALinesBeginningAndWithAToolsName) {
  const auto tokenizer = tokenizer_with({});
  const auto read = [&](const std::string& text) {
    ChatParserOptions options = format("qwen3-coder", false, R"([{"function":{"name":"get"}},{"function":{"name":"get_all"}}])");
    options.tokenizer = tokenizer.get();
    return assemble(run(options, {text}));
  };
  const std::string call = "<tool_call>\n<function=get_all>\n</function>\n</tool_call>";
  for (const std::string before : {"", "\n\n", "Look.\n"}) {
    const Turn turn = read(before + call);
    ASSERT_EQ(turn.calls.size(), 1U) << before;
    EXPECT_EQ(turn.calls[0].name, "get_all");
  }
  for (const std::string& prose :
       {std::string("Write <tool_call> <function=get_all> </function> </tool_call>"), std::string("It writes <function=get> and goes on"),
        std::string("<tool_call>\n<function=getter>\n</function>"), std::string("Use\n<function=NAME>\nwith any name."),
        std::string("<tool_call> is a mark")}) {
    const Turn turn = read(prose);
    EXPECT_EQ(turn.calls.size(), 0U) << prose;
    EXPECT_EQ(turn.content, prose);
  }
}

TEST(ChatParser, UnknownFormatNamesThoseThatThereAre) {
  try {
    ChatParser parser(format("nope"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("no format 'nope'"));
    EXPECT_THAT(error.what(), testing::HasSubstr("hermes"));
  }
}

}  // namespace
}  // namespace wick
