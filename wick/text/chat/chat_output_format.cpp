#include "wick/text/chat/chat_output_format.h"

#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/text/chat/call_form.h"
#include "wick/text/chat/chat_format.h"
#include "wick/text/chat/chat_parser.h"

namespace wick {
namespace {

using Kind = OutputFormat::Kind;

struct ReasoningMarks {
  std::string_view begin, end;
};
constexpr ReasoningMarks kReasoning[] = {{"<think>", "</think>"}, {"[THINK]", "[/THINK]"}, {"<seed:think>", "</seed:think>"}};

OutputFormat marked_text(std::string_view text) { return {.kind = Kind::marked, .text = std::string(text)}; }
OutputFormat matching(std::string_view pattern) { return {.kind = Kind::regex, .text = std::string(pattern)}; }
OutputFormat in_order(std::vector<OutputFormat> parts) { return {.kind = Kind::sequence, .parts = std::move(parts)}; }
OutputFormat one_of(std::vector<OutputFormat> parts) { return {.kind = Kind::any_of, .parts = std::move(parts)}; }
OutputFormat nothing() { return {.kind = Kind::literal, .text = ""}; }

bool ends_with_mark(std::string_view text, std::string_view mark) {
  const size_t last = text.find_last_not_of(" \t\r\n");
  return last != std::string_view::npos && text.substr(0, last + 1).ends_with(mark);
}

// Marks that begin calls, which a text before them does not hold.
std::vector<std::string> call_marks(const ChatRules& rules, const CallForm* form) {
  std::vector<std::string> marks;
  if (form == nullptr || rules.calls == ChatRules::Calls::none) return marks;
  marks.emplace_back(form->begin);
  for (const Marker& marker : find_chat_format(rules.format).in_text) marks.emplace_back(marker.text);
  return marks;
}

OutputFormat text_without(std::vector<std::string> marks) { return {.kind = Kind::free_text, .choices = std::move(marks)}; }

// The answer of a model that may call tools, without its reasoning.
OutputFormat answer_or_calls(const ChatRules& rules, const CallForm* form) {
  using Calls = ChatRules::Calls;
  const bool is_open = !rules.answer;
  OutputFormat answer = is_open ? text_without(call_marks(rules, form)) : *rules.answer;
  if (rules.calls == Calls::none) return answer;
  const OutputFormat calls = calls_of_form(*form, rules.tools, rules.only, rules.parallel_calls);
  const OutputFormat blank = matching("[ \\t\\r\\n]{0,8}");
  if (rules.calls == Calls::required) return in_order({blank, calls, blank});
  if (!is_open) return one_of({std::move(answer), in_order({blank, calls, blank})});
  if (rules.format == "llama3") {
    // A call has no mark here but its "{" at the beginning: an answer that begins so and is no call begins otherwise than with a name.
    OutputFormat text = in_order({matching("\\s*([^{<\\s]|<[^f|]|\\{\\s*(\\}|[^\"\\s}]|\"[^n]|\"n[^a]))"), answer});
    return one_of({nothing(), std::move(text), in_order({blank, calls, blank})});
  }
  return one_of({answer, in_order({answer, calls, blank})});
}

// <think>…</think>, where the model writes it.
OutputFormat with_reasoning(const ChatRules& rules, const CallForm* form, OutputFormat answer) {
  const OutputFormat blank = matching("[ \\t\\r\\n]{0,8}");
  for (const auto& [begin, end] : kReasoning) {
    if (ends_with_mark(rules.rendered, end)) return answer;
    const bool is_open = ends_with_mark(rules.rendered, begin);
    if (!is_open && rules.template_source.find(begin) == std::string_view::npos) continue;
    std::vector<std::string> marks = call_marks(rules, form);
    marks.emplace_back(end);
    const OutputFormat rest = in_order({text_without(std::move(marks)), marked_text(end), blank});
    OutputFormat reasoning =
        is_open ? in_order({one_of({nothing(), marked_text(begin)}), rest}) : in_order({blank, marked_text(begin), rest});
    if (is_open) return in_order({std::move(reasoning), std::move(answer)});
    return in_order({one_of({nothing(), std::move(reasoning)}), std::move(answer)});
  }
  return answer;
}

// gpt-oss: channels, of which "analysis" is the reasoning, "final" the answer, and "commentary to=functions.NAME" a call.
OutputFormat in_channels(const ChatRules& rules, const CallForm* form) {
  const OutputFormat text = text_without({"<|end|>", "<|channel|>", "<|start|>", "<|call|>", "<|return|>"});
  const OutputFormat thought = in_order({marked_text("<|channel|>analysis<|message|>"), text, marked_text("<|end|><|start|>assistant")});
  std::vector<OutputFormat> ends;
  if (rules.calls != ChatRules::Calls::required) {
    ends.push_back(in_order({marked_text("<|channel|>final<|message|>"), rules.answer ? *rules.answer : text}));
  }
  if (rules.calls != ChatRules::Calls::none) ends.push_back(calls_of_form(*form, rules.tools, rules.only, false));
  return in_order({one_of({nothing(), thought}), one_of(std::move(ends))});
}

}  // namespace

std::optional<OutputFormat> chat_output_format(const ChatRules& rules) {
  const bool calls = rules.calls != ChatRules::Calls::none;
  if (!calls && !rules.answer) return std::nullopt;
  const CallForm* const form = find_call_form(find_chat_format(rules.format).name, rules.template_source);
  if (calls && form == nullptr) {
    if (rules.calls == ChatRules::Calls::required) {
      fail(ErrorCode::unsupported, "this model's chat template has no form for calls of tools, so that none can be required");
    }
    ChatRules without = rules;
    without.calls = ChatRules::Calls::none;
    return chat_output_format(without);
  }
  if (find_chat_format(rules.format).harmony) return in_channels(rules, form);
  return with_reasoning(rules, form, answer_or_calls(rules, form));
}

}  // namespace wick
