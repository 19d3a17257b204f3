// Chat templates, judged by jinja2 3.1.6 as transformers 5.24 sets it up: scripts/template_goldens wrote the expected outputs.
#include "wick/text/chat/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

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
  EXPECT_EQ(chat.render(prompt),
            R"(<s>[{"role": "user", "content": "hi"}, {"role": "assistant", "content": null, "reasoning_content": "hm", "thinking": "hm", )"
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
    (void)ChatTemplate::parse("x").render(prompt);
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

}  // namespace
}  // namespace wick
