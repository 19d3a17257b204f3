#include "wick/text/chat/chat_output_format.h"

#include <utility>
#include <vector>

#include "wick/base/fail.h"

namespace wick {
namespace {

using Kind = OutputFormat::Kind;
using Calls = ChatRules::Calls;

struct ReasoningMarks {
  std::string begin, end;
};

std::vector<ReasoningMarks> reasoning_marks(const CallSyntax& syntax) {
  std::vector<ReasoningMarks> marks;
  if (!syntax.reasoning_begin.empty()) marks.push_back({syntax.reasoning_begin, syntax.reasoning_end});
  marks.insert(marks.end(), {{"<think>", "</think>"}, {"[THINK]", "[/THINK]"}, {"<seed:think>", "</seed:think>"}});
  return marks;
}

OutputFormat marked_text(std::string_view text) { return {.kind = Kind::marked, .text = std::string(text)}; }
OutputFormat matching(std::string_view pattern) { return {.kind = Kind::regex, .text = std::string(pattern)}; }
OutputFormat blanks() { return matching("[ \\t\\r\\n]{0,8}"); }
OutputFormat in_order(std::vector<OutputFormat> parts) { return {.kind = Kind::sequence, .parts = std::move(parts)}; }
OutputFormat one_of(std::vector<OutputFormat> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  return {.kind = Kind::any_of, .parts = std::move(parts)};
}
OutputFormat nothing() { return {.kind = Kind::literal, .text = ""}; }

bool ends_with_mark(std::string_view text, std::string_view mark) {
  while (!mark.empty() && mark.back() == '\n') mark.remove_suffix(1);
  const size_t last = text.find_last_not_of(" \t\r\n");
  return last != std::string_view::npos && text.substr(0, last + 1).ends_with(mark);
}

class AnswerFormat {
 public:
  AnswerFormat(const ChatRules& rules, const CallSyntax& syntax) : rules_(rules), syntax_(syntax) {
    if (rules.calls == Calls::none) return;
    for (const CallForm& form : syntax.forms) {
      // Named formats have forms in addition to the model's own: these are read, and not written.
      if (&form != &syntax.forms.front() && rules.calls == Calls::required) continue;
      // Where one call follows another with nothing but white space between them, texts and calls in turn are that already.
      const bool in_turn = goes_on() && (form.begin + form.end + form.between).find_first_not_of(" \t\r\n") == std::string::npos;
      forms_.push_back({&form, calls_of_form(form, rules.tools, rules.only,
                                             {.parallel = rules.parallel_calls && !in_turn, .required = rules.calls == Calls::required})});
      beginnings_.push_back(beginnings_of_calls(form, rules.tools, rules.only));
      if (form.only_at_start) beginnings_.back().text = "start";
    }
  }

  OutputFormat whole() const {
    for (const auto& [begin, end] : reasoning_marks(syntax_)) {
      if (ends_with_mark(rules_.rendered, end)) return answer();
      const bool is_open = ends_with_mark(rules_.rendered, begin);
      if (!is_open && !mentions(begin) && !mentions(end)) continue;
      const OutputFormat rest = after_reasoning_begins(end);
      if (is_open) return in_order({one_of({nothing(), marked_text(begin)}), rest});
      return one_of({answer(), in_order({blanks(), marked_text(begin), rest})});
    }
    return answer();
  }

 private:
  struct Form {
    const CallForm* form;
    OutputFormat calls;
  };

  // Whether the template has the mark. One that only cuts the reasoning off has the mark that ends it alone.
  [[nodiscard]] bool mentions(std::string_view mark) const {
    mark = mark.substr(0, mark.find('\n'));
    return !mark.empty() && rules_.template_source.find(mark) != std::string_view::npos;
  }

  // Whether texts and calls may come in turn. Where one call is the most, the answer ends with it.
  [[nodiscard]] bool goes_on() const {
    return rules_.calls == Calls::allowed && rules_.parallel_calls && !rules_.answer && syntax_.content_begin.empty();
  }

  // A text followed by calls, for each form, and all of that several times. The texts have none of `without`.
  [[nodiscard]] OutputFormat calls_behind_texts(const std::vector<std::string>& without) const {
    std::vector<OutputFormat> all;
    bool is_parallel = true;
    for (size_t index = 0; index < forms_.size(); ++index) {
      OutputFormat before{.kind = Kind::free_text, .text = "\n", .choices = without, .parts = beginnings_};
      std::swap(before.parts.front(), before.parts[index]);
      if (forms_[index].form->only_at_start) before = blanks();
      all.push_back(in_order({std::move(before), forms_[index].calls}));
      is_parallel = is_parallel && forms_[index].form->parallel;
    }
    OutputFormat calls = one_of(std::move(all));
    if (goes_on() && is_parallel) calls = {.kind = Kind::repeated, .parts = {std::move(calls)}};
    return calls;
  }

  [[nodiscard]] OutputFormat only_calls() const {
    std::vector<OutputFormat> all;
    for (const Form& each : forms_) all.push_back(in_order({blanks(), each.calls, blanks()}));
    return one_of(std::move(all));
  }

  // The answer without its reasoning.
  [[nodiscard]] OutputFormat answer() const {
    if (rules_.calls == Calls::required) return only_calls();
    const auto as_content = [&](OutputFormat text) {
      if (syntax_.content_begin.empty()) return text;
      return one_of({in_order({marked_text(syntax_.content_begin), std::move(text)}), nothing()});
    };
    if (rules_.answer) {
      if (forms_.empty()) return as_content(*rules_.answer);
      return one_of({as_content(*rules_.answer), only_calls()});
    }
    const OutputFormat text{.kind = Kind::free_text, .parts = beginnings_};
    return one_of({as_content(text), in_order({calls_behind_texts({}), goes_on() ? text : blanks()})});
  }

  // From the mark that begins reasoning to the end of all. A call may come in the middle of it.
  [[nodiscard]] OutputFormat after_reasoning_begins(const std::string& end) const {
    OutputFormat text{.kind = Kind::free_text, .choices = {end}, .parts = beginnings_};
    std::vector<OutputFormat> next = {marked_text(end), blanks()};
    if (!syntax_.turn_begin.empty()) next.push_back(one_of({nothing(), marked_text(syntax_.turn_begin)}));
    next.push_back(answer());
    OutputFormat rest = in_order(std::move(next));
    if (forms_.empty()) return in_order({std::move(text), std::move(rest)});
    // The reasoning goes on after calls.
    OutputFormat after = goes_on() ? in_order({text, one_of({nothing(), rest})}) : blanks();
    return one_of({in_order({std::move(text), std::move(rest)}), in_order({calls_behind_texts({end}), std::move(after)})});
  }

  const ChatRules& rules_;
  const CallSyntax& syntax_;
  std::vector<Form> forms_;
  std::vector<OutputFormat> beginnings_;
};

// gpt-oss: channels, of which "analysis" is the reasoning, "final" the answer, and "commentary to=functions.NAME" a call.
OutputFormat in_channels(const ChatRules& rules, const CallSyntax& syntax) {
  const OutputFormat text{.kind = Kind::free_text, .choices = {"<|end|>", "<|channel|>", "<|start|>", "<|call|>", "<|return|>"}};
  const OutputFormat thought = in_order({marked_text("<|channel|>analysis<|message|>"), text, marked_text("<|end|><|start|>assistant")});
  const OutputFormat preamble = in_order({marked_text("<|channel|>commentary<|message|>"), text, marked_text("<|end|><|start|>assistant")});
  std::vector<OutputFormat> ends;
  if (rules.calls != Calls::required) {
    ends.push_back(in_order({marked_text("<|channel|>final<|message|>"), rules.answer ? *rules.answer : text}));
  }
  if (rules.calls != Calls::none) ends.push_back(calls_of_form(syntax.forms.front(), rules.tools, rules.only, {.parallel = false}));
  OutputFormat end = one_of(std::move(ends));
  if (rules.calls != Calls::none) end = in_order({one_of({nothing(), preamble}), std::move(end)});
  return in_order({one_of({nothing(), thought}), std::move(end)});
}

}  // namespace

std::optional<OutputFormat> chat_output_format(const ChatRules& rules) {
  const bool calls = rules.calls != Calls::none;
  if (!calls && !rules.answer) return std::nullopt;
  const std::shared_ptr<const CallSyntax> syntax = rules.syntax != nullptr ? rules.syntax : find_call_syntax(rules.format);
  if (calls && syntax->forms.empty()) {
    if (rules.calls == Calls::required) {
      fail(ErrorCode::unsupported, "this model's chat template has no form for calls of tools, so that none can be required");
    }
    ChatRules without = rules;
    without.calls = Calls::none;
    return chat_output_format(without);
  }
  if (syntax->harmony) return in_channels(rules, *syntax);
  return AnswerFormat(rules, *syntax).whole();
}

}  // namespace wick
