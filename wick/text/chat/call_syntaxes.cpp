// The forms of calls that have names, for templates that write none, for models that write otherwise than their templates, and for
// --chat-format. What templates write themselves is read from them (call_detection.h).
#include <fmt/format.h>

#include <utility>

#include "wick/base/fail.h"
#include "wick/text/chat/call_form.h"

namespace wick {
namespace {

using Arguments = CallForm::Arguments;

CallForm json_object(std::string begin, std::string arguments, std::string call_end, std::string between, std::string end) {
  return {.begin = std::move(begin),
          .call_begin = "{\"name\": \"",
          .after_name = "\", \"" + std::move(arguments) + "\": ",
          .call_end = std::move(call_end),
          .between = std::move(between),
          .end = std::move(end),
          .is_object = true};
}

// Qwen 2.5, 3 and Hermes.
CallForm hermes() {
  CallForm form = json_object("", "arguments", "}\n</tool_call>", "\n", "");
  form.call_begin = "<tool_call>\n" + form.call_begin;
  return form;
}

// Qwen3-Coder and 3.5; also without <tool_call> around it.
CallForm xml(bool wrapped) {
  return {.call_begin = wrapped ? "<tool_call>\n<function=" : "<function=",
          .after_name = ">\n",
          .arguments = Arguments::tagged,
          .call_end = wrapped ? "</function>\n</tool_call>" : "</function>",
          .between = "\n",
          .key_begin = "<parameter=",
          .key_end = ">",
          .lead = "\n",
          .tail = "\n",
          .value_end = "</parameter>",
          .separator = "\n"};
}

// GLM 4.5 and later.
CallForm keys() {
  return {.call_begin = "<tool_call>",
          .after_name = "\n",
          .arguments = Arguments::tagged,
          .call_end = "</tool_call>",
          .between = "\n",
          .key_begin = "<arg_key>",
          .key_end = "</arg_key>\n<arg_value>",
          .value_end = "</arg_value>",
          .separator = "\n"};
}

// Llama 3's <function=NAME>{…}</function>, and functionary's.
CallForm function_tag() { return {.call_begin = "<function=", .after_name = ">", .call_end = "</function>"}; }

CallForm invoke(std::string begin, const std::string& bars, std::string end) {
  CallForm form{.begin = std::move(begin),
                .call_begin = "<" + bars + "invoke name=\"",
                .after_name = "\">\n",
                .arguments = Arguments::tagged,
                .call_end = "</" + bars + "invoke>\n",
                .end = std::move(end),
                .key_begin = "<" + bars + "parameter name=\"",
                .key_end = "\">",
                .value_end = "</" + bars + "parameter>",
                .separator = "\n"};
  if (bars.empty()) return form;
  form.key_end = "\" string=\"false\">";
  form.text_key_end = "\" string=\"true\">";
  return form;
}

CallSyntax llama3() {
  CallForm leading = json_object("", "parameters", "}", "; ", "");
  leading.only_at_start = true;
  CallForm marked = json_object("<|python_tag|>", "parameters", "}", "; ", "");
  marked.code = true;
  CallForm builtin{.begin = "<|python_tag|>", .after_name = ".call(", .arguments = Arguments::python, .call_end = ")", .parallel = false};
  return {.name = "llama3", .forms = {leading, marked, builtin, function_tag()}};
}

CallSyntax mistral() {
  const CallForm named{.call_begin = "[TOOL_CALLS]", .after_name = "[ARGS]"};
  const CallForm with_id{.call_begin = "[TOOL_CALLS]", .after_name = std::string("[CALL_ID]") + CallForm::kId + "[ARGS]"};
  const CallForm bare{.call_begin = "[TOOL_CALLS]"};
  return {.name = "mistral",
          .forms = {named, with_id, json_object("[TOOL_CALLS][", "arguments", "}", ", ", "]"), bare},
          .ids = CallIds::nine_letters};
}

CallSyntax deepseek() {
  const std::string begin = "<｜tool▁calls▁begin｜>", call = "<｜tool▁call▁begin｜>", separator = "<｜tool▁sep｜>",
                    call_end = "<｜tool▁call▁end｜>", end = "<｜tool▁calls▁end｜>";
  const CallForm v31{.begin = begin, .call_begin = call, .after_name = separator, .call_end = call_end, .end = end};
  const CallForm r1{.begin = begin,
                    .call_begin = call + "function" + separator,
                    .after_name = "\n```json\n",
                    .call_end = "\n```" + call_end,
                    .between = "\n",
                    .end = end};
  return {.name = "deepseek",
          .forms = {r1, v31, invoke("<｜DSML｜function_calls>\n", "｜DSML｜", "</｜DSML｜function_calls>"),
                    invoke("<｜DSML｜tool_calls>\n", "｜DSML｜", "</｜DSML｜tool_calls>")}};
}

CallSyntax kimi() {
  const CallForm form{.begin = "<|tool_calls_section_begin|>",
                      .call_begin = "<|tool_call_begin|>functions.",
                      .after_name = std::string(1, CallForm::kNumber) + "<|tool_call_argument_begin|>",
                      .call_end = "<|tool_call_end|>",
                      .end = "<|tool_calls_section_end|>"};
  return {.name = "kimi", .forms = {form}, .ids = CallIds::counted};
}

CallSyntax gpt_oss() {
  const CallForm form{
      .call_begin = "<|channel|>commentary to=functions.", .after_name = " <|constrain|>json<|message|>", .parallel = false};
  return {.name = "gpt-oss", .forms = {form}, .harmony = true};
}

CallSyntax lfm2() {
  const CallForm form{.begin = "<|tool_call_start|>[",
                      .after_name = "(",
                      .arguments = Arguments::python,
                      .call_end = ")",
                      .between = ", ",
                      .end = "]<|tool_call_end|>"};
  return {.name = "lfm2", .forms = {form}};
}

CallSyntax gemma4() {
  const CallForm form{.call_begin = "<|tool_call>call:", .after_name = "{", .arguments = Arguments::gemma, .call_end = "}<tool_call|>"};
  return {.name = "gemma4", .forms = {form}};
}

const std::vector<std::shared_ptr<const CallSyntax>>& syntaxes() {
  static const std::vector<std::shared_ptr<const CallSyntax>> kSyntaxes = [] {
    std::vector<std::shared_ptr<const CallSyntax>> all;
    const auto add = [&](CallSyntax syntax) { all.push_back(std::make_shared<const CallSyntax>(std::move(syntax))); };
    add({.name = "plain"});
    CallForm list = json_object("<tool_call>\n[", "arguments", "}", ", ", "]\n</tool_call>");
    add({.name = "hermes", .forms = {hermes(), xml(true), keys(), list, xml(false)}});
    add({.name = "qwen3", .forms = {hermes()}});
    add({.name = "qwen3-coder", .forms = {xml(true), xml(false)}});
    add({.name = "glm", .forms = {keys()}});
    add(llama3());
    add(mistral());
    add(deepseek());
    add(kimi());
    add({.name = "minimax", .forms = {invoke("<minimax:tool_call>\n", "", "</minimax:tool_call>")}});
    add(gpt_oss());
    add(lfm2());
    add(gemma4());
    return all;
  }();
  return kSyntaxes;
}

// Other names of the same format.
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"xml", "qwen3-coder"}, {"harmony", "gpt-oss"}, {"llama-3", "llama3"}, {"chatml", "hermes"}};

}  // namespace

std::vector<std::string_view> chat_formats() {
  std::vector<std::string_view> names;
  for (const auto& syntax : syntaxes()) names.push_back(syntax->name);
  return names;
}

std::shared_ptr<const CallSyntax> find_call_syntax(std::string_view name) {
  for (const auto& [alias, meaning] : kAliases) {
    if (alias == name) name = meaning;
  }
  for (const auto& syntax : syntaxes()) {
    if (syntax->name == name) return syntax;
  }
  fail(ErrorCode::invalid_argument, "no format '{}' of tool calls; there are {}", name, fmt::join(chat_formats(), ", "));
}

}  // namespace wick
