// Chat templates, judged by jinja2 3.1.6 as transformers 5.24 sets it up: scripts/template_goldens wrote the expected outputs.
#include "wick/text/chat/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>

#include "message_of.h"
#include "shared_data.h"
#include "text_vectors.h"
#include "wick/base/error.h"

namespace wick {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

struct Outcome {
  bool rendered = false;
  std::string text;  // or the error without its place
  int line = 0;
};

constexpr int64_t kClock = 1'700'000'000;

Outcome run(const std::string& source, const std::string& variables) {
  try {
    ChatTemplate chat = ChatTemplate::parse(source, "T");
    chat.set_clock(kClock);
    return {true, chat.render_json(variables)};
  } catch (const Error& error) {
    const std::string message = error.what();
    const size_t end = message.find(": ", 8);
    EXPECT_EQ(message.substr(0, 8), "T: line ");
    return {false, message.substr(std::min(end + 2, message.size())), std::atoi(message.c_str() + 8)};
  }
}

std::string fnv1a(std::string_view text) {
  uint64_t value = 0xCBF29CE484222325u;
  for (const char letter : text) value = (value ^ static_cast<unsigned char>(letter)) * 0x100000001B3u;
  char digits[20];
  (void)std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(value));
  return digits;
}

// What jinja2 itself says is expected word for word, and from its line; what Python says of a wrong type or number need only fail too.
void expect_error(const Outcome& outcome, const std::string& type, const std::string& message, int line, const std::string& what) {
  EXPECT_FALSE(outcome.rendered) << what << "\nexpected " << message << ", got " << outcome.text;
  if (type != "UndefinedError" && type != "TemplateError" && type != "SecurityError") return;
  EXPECT_THAT(outcome.text, HasSubstr(message)) << what;
  EXPECT_EQ(outcome.line, line) << what << "\n" << message;
}

void check_snippets(const std::filesystem::path& path) {
  const Json all = Json::parse(read_file(path));
  const std::string variables = all[0]["variables"].dump();
  for (size_t index = 1; index < all.size(); ++index) {
    const Json& entry = all[index];
    const Outcome outcome = run(entry["template"], variables);
    if (entry.contains("output")) {
      EXPECT_TRUE(outcome.rendered && outcome.text == entry["output"].get<std::string>())
          << entry["template"] << "\nexpected " << entry["output"] << "\ngot      " << Json(outcome.text);
    } else {
      expect_error(outcome, entry["type"], entry["error"], entry["line"], entry.dump());
    }
  }
}

TEST(ChatTemplate, SnippetsRenderAsJinjaRendersThem) { check_snippets(source_file("tests/data/text/template_snippets.json")); }

TEST(ChatTemplate, GivenSnippetsRenderAsJinjaRendersThem) {
  const char* path = std::getenv("WICK_TEMPLATE_SNIPPETS");
  if (path == nullptr) GTEST_SKIP() << "for the file that scripts/template_goldens --random wrote, named in WICK_TEMPLATE_SNIPPETS";
  check_snippets(path);
}

TEST(ChatTemplate, TemplatesOfModelsRenderAsJinjaRendersThem) {
  const auto folder = shared_data("data/templates");
  if (!folder) GTEST_SKIP() << kSharedDataMissing;
  const Json all = Json::parse(read_file(source_file("tests/data/text/chat_templates.json")));
  int64_t rendered = 0;
  for (const auto& [file, cases] : all["goldens"].items()) {
    const std::string source = read_file(*folder / file);
    ASSERT_FALSE(source.empty()) << file;
    for (const auto& [name, expected] : cases.items()) {
      const Outcome outcome = run(source, all["cases"][name].dump());
      if (expected.is_string()) {
        EXPECT_TRUE(outcome.rendered && fnv1a(outcome.text) == expected.get<std::string>()) << file << " " << name << "\n" << outcome.text;
        ++rendered;
      } else {
        expect_error(outcome, expected[1], expected[2], expected[0], file + " " + name);
      }
    }
  }
  EXPECT_GT(rendered, 5000);
}

TEST(ChatTemplate, BombsEndWithAnError) {
  const auto refused = [](const std::string& source, const std::string& part) {
    const Outcome outcome = run(source, "{}");
    EXPECT_FALSE(outcome.rendered) << source;
    EXPECT_THAT(outcome.text, HasSubstr(part)) << source;
  };
  refused("{{ 'a' * 10000000000 }}", "64 MiB");
  refused("{{ ([0] * 1000000) * 1000000 }}", "64 MiB");
  refused("{% set ns = namespace(x='ab') %}{% for i in range(99999) %}{% set ns.x = ns.x + ns.x %}{% endfor %}", "64 MiB");
  refused("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "too many steps");
  refused("{% set ns = namespace(x=[1]) %}{% for i in range(99999) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
          "recursion depth");
  refused("{% set ns = namespace(x=[1]) %}{% for i in range(400) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}", "");
  refused("{% set ns = namespace(x=[1]) %}{% for i in range(400) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x|tojson }}", "");
  refused("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "recursion depth");
  refused("{{ 'x'.center(100000000000) }}", "64 MiB");
  refused("{{ '%999999999d' % 1 }}", "Too many decimal digits");
  refused("{{ 'ab'.replace('', 'x' * 60000000) }}", "64 MiB");
  refused("{{ range(1000000000) }}", "Range too big");
  refused("{{ 10 ** 1000 }}", "64 bits");
}

TEST(ChatTemplate, DeepNestingIsRefused) {
  for (const auto& [begin, end] : {std::pair<std::string, std::string>{"(", ")"}, {"[", "]"}, {"not ", ""}, {"- ", ""}, {"{1:", "}"}}) {
    std::string source = "{{ ";
    for (int level = 0; level < 100'000; ++level) source += begin;
    source += "1";
    for (int level = 0; level < 100'000; ++level) source += end;
    EXPECT_FALSE(run(source + " }}", "{}").rendered) << begin;
  }
  std::string blocks;
  for (int level = 0; level < 100'000; ++level) blocks += "{% if 1 %}";
  EXPECT_FALSE(run(blocks, "{}").rendered);
  std::string sum = "{{ 1";
  for (int level = 0; level < 100'000; ++level) sum += "+1";
  EXPECT_FALSE(run(sum + " }}", "{}").rendered);
  std::string json = "{\"messages\":";
  for (int level = 0; level < 100'000; ++level) json += "[";
  EXPECT_THROW((void)ChatTemplate::parse("x").render_json(json), Error);
}

TEST(ChatTemplate, CyclesOfValuesEnd) {
  EXPECT_TRUE(
      run("{% set ns = namespace() %}{% set ns.me = [ns] %}{% for x in [1] %}{% set ns.loop = loop %}{% endfor %}ok", "{}").rendered);
  EXPECT_FALSE(run("{% set ns = namespace() %}{% set ns.me = [ns] %}{{ ns }}", "{}").rendered);
}

ChatMessage message(std::string role, std::string content) { return {.role = std::move(role), .content = std::move(content)}; }

TEST(ChatTemplate, MessagesAreWhatTheTemplateSees) {
  ChatPrompt prompt;
  prompt.messages = {message("user", "hi"),
                     {.role = "assistant", .reasoning = "hm", .tool_calls = {{"c1", "f", R"({"b":1,"a":[2]})"}}},
                     {.role = "tool", .content = "r", .name = "f", .tool_call_id = "c1"}};
  prompt.tools = R"([{"type":"function"}])";
  prompt.variables = R"({"flag":true})";
  prompt.bos_token = "<s>";
  const ChatTemplate chat =
      ChatTemplate::parse("{{ bos_token }}{{ messages|tojson }}{{ tools|tojson }}{{ flag }}{{ add_generation_prompt }}");
  EXPECT_EQ(
      chat.render(prompt),
      R"(<s>[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "", "reasoning_content": "hm", "thinking": "hm", "reasoning": "hm", )"
      R"("tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": {"b": 1, "a": [2]}}}]}, )"
      R"({"role": "tool", "content": "r", "name": "f", "tool_call_id": "c1"}][{"type": "function"}]TrueTrue)");
  EXPECT_TRUE(chat.takes_tools());
}

TEST(ChatTemplate, ArgumentsAreATextWhereTheTemplateConcatenatesThem) {
  ChatPrompt prompt;
  prompt.messages = {{.role = "assistant", .tool_calls = {{"", "f", R"({"a":1})"}}}};
  EXPECT_EQ(ChatTemplate::parse("{{ 'x' + messages[0].tool_calls[0].function.arguments }}").render(prompt), R"(x{"a":1})");
}

TEST(ChatTemplate, JsonThatIsNoneNamesTheField) {
  ChatPrompt prompt;
  prompt.tools = "[1,";
  try {
    (void)ChatTemplate::parse("{{ tools }}").render(prompt);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("tools: not JSON: byte 4"));
  }
}

TEST(ChatTemplate, NamedTemplatesRenderAConversation) {
  ChatPrompt prompt;
  prompt.messages = {message("system", "Be brief."), message("user", "Hi"), message("assistant", "Hello"), message("user", "Bye")};
  prompt.bos_token = "<s>";
  prompt.eos_token = "</s>";
  for (const std::string_view name : named_chat_templates()) {
    const std::string text = choose_chat_template({}, std::string(name), "m").render(prompt);
    for (const char* part : {"Be brief.", "Hi", "Hello", "Bye"}) EXPECT_THAT(text, HasSubstr(part)) << name;
  }
  EXPECT_EQ(choose_chat_template({}, "chatml", "m").render(prompt),
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello<|im_end|>\n"
            "<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(choose_chat_template({}, "llama2", "m").render(prompt),
            "<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nHi [/INST] Hello </s><s>[INST] Bye [/INST]");
  EXPECT_EQ(choose_chat_template({}, "gemma", "m").render(prompt),
            "<s><start_of_turn>user\nBe brief.\n\nHi<end_of_turn>\n<start_of_turn>model\nHello<end_of_turn>\n"
            "<start_of_turn>user\nBye<end_of_turn>\n<start_of_turn>model\n");
}

TEST(ChatTemplate, ModelWithoutTemplateSaysWhatThereIs) {
  for (const auto& [choice, part] :
       {std::pair<std::string, std::string>{"", "my-model has no chat template"}, {"nope", "no chat template 'nope'"}}) {
    try {
      (void)choose_chat_template({}, choice, "my-model");
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::not_found);
      EXPECT_THAT(error.what(), HasSubstr(part));
      EXPECT_THAT(error.what(), HasSubstr("chatml"));
    }
  }
}

TEST(ChatTemplate, FolderGivesItsTemplates) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "wick_chat_templates";
  std::filesystem::create_directories(folder / "additional_chat_templates");
  std::ofstream(folder / "tokenizer_config.json")
      << R"({"chat_template":[{"name":"default","template":"D"},{"name":"rag","template":"R"}]})";
  std::vector<ChatTemplateSource> found = find_chat_templates(folder);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].text, "D");
  EXPECT_EQ(choose_chat_template(found, "rag", "m").source(), "R");
  std::ofstream(folder / "chat_template.jinja") << "J";
  std::ofstream(folder / "additional_chat_templates" / "tool_use.jinja") << "T";
  found = find_chat_templates(folder);
  EXPECT_EQ(choose_chat_template(found, "", "m").source(), "J");
  EXPECT_EQ(choose_chat_template(found, "", "m", true).source(), "T");
  std::ofstream(folder / "tokenizer_config.json") << "[";
  EXPECT_THROW((void)find_chat_templates(folder), Error);
  std::filesystem::remove_all(folder);
}

// --- Conversations that agents hold ---

std::string template_file(const std::filesystem::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

constexpr const char* kOneTool =
    R"([{"type":"function","function":{"name":"f","description":"Does it.","parameters":{"type":"object","properties":{"a":{"type":"integer","description":"A."}},"required":["a"]}}}])";

ChatPrompt agents_turn(std::optional<std::string> content) {
  return {.messages = {message("user", "hi"),
                       {.role = "assistant", .content = std::move(content), .tool_calls = {{"call_123456", "f", R"({"a":1})"}}},
                       {.role = "tool", .content = "r", .tool_call_id = "call_123456"}},
          .tools = kOneTool};
}

TEST(ChatTemplate, NullContentIsEmptyContent) {
  const auto folder = shared_data("data/templates");
  if (!folder) GTEST_SKIP() << kSharedDataMissing;
  int rendered = 0;
  for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
    const ChatTemplate chat = ChatTemplate::parse(template_file(entry.path()), entry.path().filename().string());
    std::string empty;
    try {
      empty = chat.render(agents_turn(""));
    } catch (const Error&) {
      continue;  // Gemma 2 knows no tools
    }
    EXPECT_EQ(chat.render(agents_turn(std::nullopt)), empty) << chat.name();
    EXPECT_EQ(empty.find("None"), std::string::npos) << chat.name();
    EXPECT_NE(empty.find("hi"), std::string::npos) << chat.name();
    ++rendered;
  }
  EXPECT_GE(rendered, 32);
}

TEST(ChatTemplate, ContentIsNoneWhereTheTemplateAsksForThat) {
  const ChatTemplate chat = ChatTemplate::parse(
      "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}|{% elif m.content is none %}"
      "[{{ m.tool_calls[0].function.name }}({{ m.tool_calls[0].function.arguments|tojson }})]{% else %}{{ m.content }}{% endif %}{% endfor "
      "%}"
      "{{ tools|tojson }}");
  EXPECT_THAT(chat.render(agents_turn("")), testing::StartsWith("hi|[f({\"a\": 1})]r"));
  EXPECT_EQ(chat.render(agents_turn("")), chat.render(agents_turn(std::nullopt)));
}

TEST(ChatTemplate, TheDialectOfLlamaCppIsTakenToo) {
  const auto render = [](const char* source, std::vector<ChatMessage> messages = {message("user", "hi")}) {
    return ChatTemplate::parse(source).render({.messages = std::move(messages)});
  };
  EXPECT_EQ(render("{% set l = [1] %}{% set _ = l.append(2) %}{{ l }}{{ l.pop(0) }}{{ l }}"), "[1, 2]1[2]");
  EXPECT_EQ(render("{% set ns = namespace(l=[]) %}{% set _ = ns.l.append('a') %}{{ ns.l.insert(0, 'b') }}{{ ns.l|tojson }}"),
            "None[\"b\", \"a\"]");
  EXPECT_EQ(render("{{ messages|map(attribute='content')|tojson }}"), "[\"hi\"]");
  EXPECT_EQ(render("{% set d = {'a': 1} %}{{ d.update({'b': 2}) }}{{ d.pop('a') }}{{ d|tojson }}"), "None1{\"b\": 2}");
  EXPECT_EQ(render("{% macro m() %}{{ x.content }}{% endmacro %}{% for x in messages %}{% set x.content = 'ho' %}{{ m() }}{% endfor %}"),
            "ho");
  EXPECT_EQ(render("{{ bos_token + 'x' }}"), "x");
  EXPECT_THAT(message_of([&] { (void)render("{% set l = [] %}{{ l.append(l) }}"); }), HasSubstr("unsafe"));
  EXPECT_THAT(message_of([&] {
                (void)render(
                    "{% set ns = namespace(c=[]) %}{% for i in range(5000) %}{% set n = [] %}{% set _ = ns.c.append(n) %}{% set ns.c = n "
                    "%}{% endfor %}");
              }),
              HasSubstr("unsafe"));
}

TEST(ChatTemplate, VariablesCannotReplaceTheConversation) {
  for (const char* const name : {"messages", "tools", "add_generation_prompt", "bos_token"}) {
    const ChatPrompt prompt{.messages = {message("user", "hi")}, .variables = std::string("{\"") + name + "\": []}"};
    EXPECT_THAT(message_of([&] { (void)ChatTemplate::parse("{{ messages }}").render(prompt); }), HasSubstr("cannot be replaced")) << name;
  }
}

TEST(ChatTemplate, ToolsWithoutDescriptionsAreCompletedWhereTheTemplateNeedsThem) {
  ChatPrompt prompt{.messages = {message("user", "hi")}, .tools = R"([{"type":"function","function":{"name":"f"}}])"};
  EXPECT_EQ(ChatTemplate::parse("{% for t in tools %}{{ '// ' + t.function.description + t.function.name }}{% endfor %}").render(prompt),
            "// f");
  EXPECT_EQ(ChatTemplate::parse("{{ tools|tojson }}").render(prompt), R"([{"type": "function", "function": {"name": "f"}}])");
}

TEST(ChatTemplate, ToolsWithoutAPlaceAreRefusedOrDescribed) {
  ChatPrompt prompt{.messages = {message("user", "hi")}, .tools = kOneTool};
  EXPECT_THAT(message_of([&] { (void)choose_chat_template({}, "chatml", "m").render(prompt); }), HasSubstr("no place for tools"));
  const ChatTemplate chat = ChatTemplate::parse(
      "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls %}\n<tool_call>\n"
      "{\"name\": \"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments|tojson }}}\n</tool_call>{% endfor %}</>{% endfor %}");
  EXPECT_THAT(chat.render(prompt), testing::StartsWith("<system>You may call these tools:\n{\"name\":\"f\""));
}

TEST(ChatTemplate, IdsOfCallsHaveTheFormOfTheModel) {
  const auto folder = shared_data("data/templates");
  if (!folder) GTEST_SKIP() << kSharedDataMissing;
  const auto render = [&](const char* file) { return ChatTemplate::parse(template_file(*folder / file)).render(agents_turn("")); };
  EXPECT_THAT(render("moonshotai-Kimi-K2.jinja"), HasSubstr("## Return of functions.f:0"));
  EXPECT_EQ(render("upstage-Solar-Open-100B.jinja").find("call_123456"), std::string::npos);
  // Mistral's templates refuse other ids than nine letters.
  const ChatTemplate mistral = ChatTemplate::parse(
      "{% for m in messages %}{% for c in m.tool_calls %}{% if c.id|length != 9 %}{{ raise_exception('nine') }}{% endif %}"
      "[TOOL_CALLS][{\"name\": \"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments|tojson }}, \"id\": \"{{ c.id }}\"}]{% "
      "endfor %}"
      "{% if m.role == 'tool' %}<{{ m.tool_call_id }}>{% elif m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}{{ tools|tojson }}");
  const std::string text = mistral.render(agents_turn(std::nullopt));
  const size_t id = text.find("\"id\": \"") + 7, end = text.find('"', id);
  EXPECT_EQ(end - id, 9U) << text;
  EXPECT_THAT(text, HasSubstr("<" + text.substr(id, 9) + ">"));
  EXPECT_EQ(mistral.render(agents_turn(std::nullopt)), text);
}

}  // namespace
}  // namespace wick
