#include "wick/text/chat/call_detection.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/base/json.h"
#include "wick/text/chat/chat_parser.h"

namespace wick {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kQuestion = "Probe question.";
constexpr std::string_view kAnswer = "Probe answer.";
constexpr std::string_view kThought = "Probe thought.";
constexpr std::string_view kFirst = "probe_alpha", kSecond = "probe_beta";
constexpr std::string_view kTextKey = "key_one", kNumberKey = "key_two";
constexpr std::string_view kText = "first words", kNumber = "4711";
constexpr std::string_view kFirstArguments = R"({"key_one": "first words", "key_two": 4711})";
constexpr std::string_view kSecondArguments = R"({"key_three": "second words"})";
constexpr std::string_view kFirstId = "c4ll00001", kSecondId = "c4ll00002";
constexpr std::string_view kTools = R"([{"type": "function", "function": {"name": "probe_alpha", "description": "A probe.",
  "parameters": {"type": "object", "properties": {"key_one": {"type": "string", "description": "A text."},
    "key_two": {"type": "integer", "description": "A number."}}, "required": ["key_one"]}}},
 {"type": "function", "function": {"name": "probe_beta", "description": "Another probe.",
  "parameters": {"type": "object", "properties": {"key_three": {"type": "string", "description": "A text."}}, "required": ["key_three"]}}}])";

bool is_white(char byte) { return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r'; }
bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::string_view without_blanks_before(std::string_view text) {
  while (!text.empty() && is_white(text.front())) text.remove_prefix(1);
  return text;
}
std::string_view without_blanks_behind(std::string_view text) {
  while (!text.empty() && is_white(text.back())) text.remove_suffix(1);
  return text;
}

// Marks <…> and […], runs of white space, and single bytes: two texts are compared by these, so that none is cut inside of a mark.
std::vector<std::string_view> pieces_of(std::string_view text) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    size_t length = 1;
    if (text.front() == '<') {
      const size_t end = text.find_first_of("<>", 1);
      length = end == std::string_view::npos ? text.size() : text[end] == '>' ? end + 1 : 1;
    } else if (text.front() == '[') {
      const size_t end = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_/", 1);
      if (end != std::string_view::npos && end > 1 && text[end] == ']') length = end + 1;
    } else if (is_white(text.front())) {
      while (length < text.size() && is_white(text[length])) ++length;
    }
    pieces.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return pieces;
}

size_t common_prefix(std::string_view left, std::string_view right) {
  const auto a = pieces_of(left), b = pieces_of(right);
  size_t length = 0;
  for (size_t index = 0; index < std::min(a.size(), b.size()) && a[index] == b[index]; ++index) length += a[index].size();
  return length;
}

size_t common_suffix(std::string_view left, std::string_view right) {
  const auto a = pieces_of(left), b = pieces_of(right);
  size_t length = 0;
  for (size_t index = 1; index <= std::min(a.size(), b.size()) && a[a.size() - index] == b[b.size() - index]; ++index) {
    length += a[a.size() - index].size();
  }
  return length;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

// Whether a text is one mark, maybe with white space around it.
bool is_mark(std::string_view text) {
  text = without_blanks_behind(without_blanks_before(text));
  return text.size() > 2 && pieces_of(text).size() == 1;
}

struct Turn {
  std::string_view content{};
  std::string_view reasoning{};
  int calls = 0;
  std::string_view text_value = kText;
};

class Prober {
 public:
  explicit Prober(const ChatTemplate& chat_template) : template_(chat_template) {}

  TemplateTraits probe() {
    TemplateTraits traits;
    const bool writes = find_style();
    traits.writes_calls = writes;
    traits.lists_tools = lists_tools();
    traits.style = style_;
    traits.syntax = std::make_shared<const CallSyntax>(writes ? read_syntax() : without_calls());
    return traits;
  }

 private:
  struct Ids {
    std::string first, second;
  };

  [[nodiscard]] ChatPrompt conversation(const Turn& turn) const {
    ChatPrompt prompt{.messages = {{.role = "user", .content = std::string(kQuestion)}},
                      .tools = std::string(kTools),
                      .add_generation_prompt = false,
                      .bos_token = "",
                      .eos_token = "<|probe_eos|>"};
    ChatMessage message{.role = "assistant", .content = std::string(turn.content), .reasoning = std::string(turn.reasoning)};
    Json arguments = parse_ordered_json(std::string(kFirstArguments));
    arguments[std::string(kTextKey)] = turn.text_value;
    if (turn.calls > 0) message.tool_calls.push_back({ids_.first, std::string(kFirst), json_text(arguments)});
    if (turn.calls > 1) message.tool_calls.push_back({ids_.second, std::string(kSecond), std::string(kSecondArguments)});
    prompt.messages.push_back(std::move(message));
    return prompt;
  }

  // The template's text after the question; ids are marked by CallForm::kId.
  [[nodiscard]] std::optional<std::string> render(const Turn& turn, const PromptStyle& style) const {
    const std::optional<std::string> text = template_.try_render(conversation(turn), style);
    if (!text) return std::nullopt;
    const size_t question = text->rfind(kQuestion);
    if (question == std::string::npos) return std::nullopt;
    std::string rest = text->substr(question + kQuestion.size());
    const std::string id(1, CallForm::kId);
    if (!holds(ids_.first, kFirst)) rest = replaced(replaced(std::move(rest), ids_.first, id), ids_.second, id);
    return rest;
  }
  [[nodiscard]] std::string render(const Turn& turn) const { return render(turn, style_).value_or(""); }

  // Whether a call is written as the model is to write it: not as Python shows a dict, and not as a text of JSON within JSON.
  [[nodiscard]] static bool is_sound(const std::string& text) {
    return holds(text, kFirst) && holds(text, kText) && holds(text, kNumber) && !holds(text, "\\\"key_one") && !holds(text, "'key_one'");
  }

  bool find_style() {
    std::optional<PromptStyle> some;
    for (const Ids& ids : {Ids{std::string(kFirstId), std::string(kSecondId)}, Ids{"functions.probe_alpha:0", "functions.probe_beta:1"}}) {
      ids_ = ids;
      for (int index = 0; index < 8; ++index) {
        const PromptStyle style{.llama_cpp = index / 4 == 1, .text_arguments = index / 2 % 2 == 1, .null_content = index % 2 == 1};
        const std::optional<std::string> text = render({.calls = 1}, style);
        if (!text) continue;
        if (!some) some = style;
        if (!is_sound(*text)) continue;
        style_ = style;
        prefer_null(*text);
        return true;
      }
    }
    ids_ = {std::string(kFirstId), std::string(kSecondId)};
    style_ = some.value_or(PromptStyle{});
    return false;
  }

  // A template that writes something else where content is none, other than its name, asks for that.
  void prefer_null(const std::string& with_empty) {
    PromptStyle style = style_;
    style.null_content = true;
    const std::optional<std::string> text = render({.calls = 1}, style);
    if (text && is_sound(*text) && *text != with_empty && !holds(*text, "None") && !holds(*text, "null")) style_ = style;
  }

  bool lists_tools() {
    ChatPrompt prompt = conversation({});
    prompt.messages.pop_back();
    for (const bool llama_cpp : {style_.llama_cpp, !style_.llama_cpp}) {
      PromptStyle style = style_;
      style.llama_cpp = llama_cpp;
      const std::optional<std::string> text = template_.try_render(prompt, style);
      if (!text) continue;
      listed_ = *text;
      if (!holds(*text, kFirst)) return false;
      style_ = style;
      return true;
    }
    return false;
  }

  // Forms that a template does not write, by what else it writes.
  [[nodiscard]] CallSyntax without_calls() const {
    if (holds(render({.content = kAnswer}), "<|channel|>final<|message|>")) return *find_call_syntax("gpt-oss");
    if (holds(listed_, "List of tools: ") && holds(listed_, kFirst)) return *find_call_syntax("lfm2");
    CallSyntax plain;
    read_turns(plain, "", render({.content = kAnswer}));
    return plain;
  }

  [[nodiscard]] CallSyntax read_syntax() const {
    const std::string one = render({.calls = 1}), two = render({.calls = 2}), text = render({.content = kAnswer});
    if (holds(text, "<|channel|>final<|message|>")) return *find_call_syntax("gpt-oss");
    CallSyntax syntax{.name = "template"};
    std::optional<CallForm> form = read_form(one, two, text);
    if (form && !reads_back(*form, one)) form.reset();
    if (form && form->only_at_start && holds(text, "<|start_header_id|>")) {
      syntax = *find_call_syntax("llama3");
      form->parallel = false;
      syntax.forms.front() = std::move(*form);
    } else if (form) {
      syntax.ids = ids_of(*form);
      syntax.forms.push_back(std::move(*form));
    } else {
      syntax.name = "plain";
    }
    read_turns(syntax, one, text);
    return syntax;
  }

  [[nodiscard]] CallIds ids_of(const CallForm& form) const {
    if (holds(form.after_name, std::string(1, CallForm::kNumber)) || holds(ids_.first, kFirst)) return CallIds::counted;
    if (holds(form.call_begin, "<|tool_call:begin|>")) return CallIds::ten_letters;
    if (form.mark() == "[TOOL_CALLS]") return CallIds::nine_letters;
    Prober other(template_);
    other.ids_ = {"call_0123456789abcdef", "call_fedcba9876543210"};
    return other.render({.calls = 1}, style_) ? CallIds::any : CallIds::nine_letters;
  }

  // The marks around reasoning and text, where they are not the usual ones.
  void read_turns(CallSyntax& syntax, std::string_view call, const std::string& text) const {
    const std::string& source = template_.source();
    if (holds(source, "<|channel>thought")) {
      syntax.reasoning_begin = "<|channel>thought\n";
      syntax.reasoning_end = "<channel|>";
    } else if (holds(source, "[BEGIN FINAL RESPONSE]")) {
      syntax.reasoning_begin = "Here are my reasoning steps:\n";
      syntax.reasoning_end = "[BEGIN FINAL RESPONSE]";
      syntax.turn_end = "[END FINAL RESPONSE]";
    }
    if (call.empty()) return;
    // <|begin|>assistant<|content|>TEXT beside <|begin|>assistant<|tool_calls|>…
    const size_t common = common_prefix(call, text), answer = text.find(kAnswer);
    if (answer == std::string::npos || answer <= common) return;
    const std::string_view mark = std::string_view(text).substr(common, answer - common);
    if (!is_mark(mark) || !mark.starts_with("<|")) return;
    syntax.content_begin = std::string(mark);
    const size_t turn = text.rfind('<', common == 0 ? 0 : common - 1);
    if (turn == std::string::npos || turn >= common) return;
    syntax.turn_begin = text.substr(turn, common - turn);
    const std::string thought = render({.reasoning = kThought, .calls = 1});
    const size_t at = thought.find(kThought);
    if (at == std::string::npos) return;
    const std::string_view before = std::string_view(thought).substr(0, at), after = std::string_view(thought).substr(at + kThought.size());
    const auto last = pieces_of(before), first = pieces_of(after);
    if (last.empty() || first.empty() || !is_mark(last.back()) || !is_mark(first.front())) return;
    syntax.reasoning_begin = std::string(last.back());
    syntax.reasoning_end = std::string(first.front());
    syntax.turn_end = syntax.reasoning_end;
  }

  // Whether a parser of this form finds the probe's call again.
  [[nodiscard]] bool reads_back(const CallForm& form, const std::string& text) const {
    const ChatParserOptions options{.syntax = std::make_shared<const CallSyntax>(CallSyntax{.name = "template", .forms = {form}}),
                                    .tools = std::string(kTools)};
    // The text begins where the form does.
    const std::string mark = form.mark();
    size_t begin = text.find(mark);
    const size_t name = text.find(kFirst);
    for (size_t next = begin; next != std::string::npos && next < name; next = text.find(mark, next + 1)) begin = next;
    if (!form.begin.empty()) begin = text.find(mark);
    if (begin == std::string::npos) return false;
    ChatParser parser(options);
    std::string call = text.substr(begin);
    std::replace(call.begin(), call.end(), CallForm::kId, 'x');
    std::vector<ChatEvent> events = parser.push(call);
    for (ChatEvent& event : parser.finish()) events.push_back(std::move(event));
    std::string names, arguments;
    for (const ChatEvent& event : events) {
      if (event.kind == ChatEventKind::call_begin) names += event.name;
      if (event.kind == ChatEventKind::arguments) arguments += event.text;
    }
    return names == kFirst && parse_ordered_json(arguments) == parse_ordered_json(std::string(kFirstArguments));
  }

  // The end of the JSON object that begins at `begin` and holds the probe's arguments.
  static std::optional<size_t> end_of_object(std::string_view text, size_t begin) {
    int depth = 0;
    bool in_text = false;
    for (size_t at = begin; at < text.size(); ++at) {
      const char byte = text[at];
      if (in_text) {
        if (byte == '\\') ++at;
        in_text = byte != '"';
      } else if (byte == '"') {
        in_text = true;
      } else if (byte == '{' || byte == '[') {
        ++depth;
      } else if ((byte == '}' || byte == ']') && --depth == 0) {
        const Json parsed = parse_ordered_json(text.substr(begin, at + 1 - begin));
        if (parsed == parse_ordered_json(std::string(kFirstArguments))) return at + 1;
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

  // Reads how arguments are written after the name, which ends at `name_end`; where they end.
  std::optional<size_t> read_arguments(std::string_view text, size_t name_end, CallForm& form) const {
    const size_t brace = text.find('{', name_end);
    if (brace != std::string_view::npos) {
      if (const std::optional<size_t> end = end_of_object(text, brace)) {
        form.after_name = std::string(text.substr(name_end, brace - name_end));
        return end;
      }
    }
    const size_t key = text.find(kTextKey, name_end), value = text.find(kText, key);
    const size_t other_key = text.find(kNumberKey, value), number = text.find(kNumber, other_key);
    if (number == std::string_view::npos) return std::nullopt;
    const std::string_view before = text.substr(name_end, key - name_end);
    const std::string_view to_value = text.substr(key + kTextKey.size(), value - key - kTextKey.size());
    const std::string_view to_key = text.substr(value + kText.size(), other_key - value - kText.size());
    const std::string_view to_number = text.substr(other_key + kNumberKey.size(), number - other_key - kNumberKey.size());
    const size_t numbers_end = number + kNumber.size();
    if (holds(to_value, "<|\"|>")) {
      form.arguments = CallForm::Arguments::gemma;
      form.after_name = std::string(before);
      return numbers_end;
    }
    if (to_value == "=\"" && to_number == "=") {
      form.arguments = CallForm::Arguments::python;
      form.after_name = std::string(before);
      return numbers_end;
    }
    return read_tagged(before, to_value, to_key, to_number, text, numbers_end, form);
  }

  std::optional<size_t> read_tagged(std::string_view before, std::string_view to_value, std::string_view to_key, std::string_view to_number,
                                    std::string_view text, size_t numbers_end, CallForm& form) const {
    form.arguments = CallForm::Arguments::tagged;
    form.key_begin = std::string(without_blanks_before(to_key.substr(to_key.size() - common_suffix(before, to_key))));
    if (!form.key_begin.starts_with('<')) return std::nullopt;
    form.after_name = std::string(before.substr(0, before.size() - form.key_begin.size()));
    const std::string_view ending = to_key.substr(0, to_key.size() - form.key_begin.size());
    const std::string_view mark = without_blanks_before(ending);
    const size_t close = mark.find('>');
    if (!mark.starts_with('<') || close == std::string_view::npos) return std::nullopt;
    form.tail = std::string(ending.substr(0, ending.size() - mark.size()));
    form.value_end = std::string(mark.substr(0, close + 1));
    form.separator = std::string(mark.substr(close + 1));
    form.key_end = std::string(without_blanks_behind(to_number));
    form.lead = std::string(to_value.substr(without_blanks_behind(to_value).size()));
    if (without_blanks_behind(to_value) != form.key_end) form.text_key_end = std::string(without_blanks_behind(to_value));
    if (form.key_end.empty() || !form.key_end.ends_with('>')) return std::nullopt;
    const std::string closing = form.tail + form.value_end;
    if (text.substr(numbers_end, closing.size()) != closing) return std::nullopt;
    size_t end = numbers_end + closing.size();
    if (text.substr(end).starts_with(form.separator)) end += form.separator.size();
    form.cdata = holds(render({.calls = 1, .text_value = "a<b\n&"}), "<![CDATA[a<b\n&]]>");
    return end;
  }

  // `one`, `two`: turns with calls; `plain`: the same with a text instead.
  [[nodiscard]] std::optional<CallForm> read_form(const std::string& one, const std::string& two, const std::string& plain) const {
    CallForm form;
    const size_t name = one.find(kFirst);
    const std::optional<size_t> end = read_arguments(one, name + kFirst.size(), form);
    if (!end) return std::nullopt;
    const std::string_view head = std::string_view(one).substr(0, name), rest = std::string_view(one).substr(*end);
    const size_t turn = common_prefix(head, plain);
    const size_t answer = plain.find(kAnswer);
    const std::string_view plain_rest = answer == std::string::npos ? "" : std::string_view(plain).substr(answer + kAnswer.size());
    const size_t turn_rest = common_suffix(rest, plain_rest);
    const std::string_view own_rest = rest.substr(0, rest.size() - turn_rest);

    const size_t second = two.find(kSecond);
    form.parallel = second != std::string::npos && second > *end;
    std::string_view ending = own_rest;
    if (form.parallel) {
      const std::string_view between = std::string_view(two).substr(*end, second - *end);
      form.call_begin = std::string(without_blanks_before(between.substr(between.size() - common_suffix(head, between))));
      const std::string_view gap = between.substr(0, between.size() - form.call_begin.size());
      const size_t shared = common_prefix(gap, rest);
      form.call_end = std::string(gap.substr(0, shared));
      form.between = std::string(gap.substr(shared));
      // White space after a call is between it and the next, or is not there.
      const size_t trimmed = without_blanks_behind(form.call_end).size();
      form.between.insert(0, form.call_end.substr(trimmed));
      form.call_end.resize(trimmed);
      if (head.size() < turn + form.call_begin.size()) return std::nullopt;
      form.begin = std::string(without_blanks_before(head.substr(turn, head.size() - turn - form.call_begin.size())));
      ending = own_rest.substr(std::min(own_rest.size(), trimmed));
    } else {
      form.call_begin = std::string(without_blanks_before(head.substr(turn)));
    }
    read_end(ending, plain_rest.substr(0, plain_rest.size() - turn_rest), form);
    if (form.call_begin.empty() && form.begin.empty()) return std::nullopt;
    read_number(two, form);
    const size_t brace = form.call_begin.rfind('{');
    form.is_object = form.arguments == CallForm::Arguments::json && brace != std::string::npos && form.call_begin.ends_with('"') &&
                     form.after_name.starts_with('"');
    form.only_at_start = form.mark().starts_with('{') || form.mark().starts_with("[{");
    return form;
  }

  // The text after the last call: the end of all calls, or the mark that ends a turn in which there are calls.
  static void read_end(std::string_view ending, std::string_view plain_ending, CallForm& form) {
    if (!form.parallel) {
      form.call_end = std::string(without_blanks_behind(ending));
      const size_t mark = form.call_end.rfind('<');
      if (mark != std::string::npos && is_mark(plain_ending) && is_mark(std::string_view(form.call_end).substr(mark))) {
        form.turn_end = form.call_end.substr(mark);
        form.call_end = std::string(without_blanks_behind(std::string_view(form.call_end).substr(0, mark)));
      }
      return;
    }
    ending = without_blanks_behind(ending);
    if (is_mark(ending) && is_mark(plain_ending)) {
      form.turn_end = std::string(without_blanks_before(ending));
    } else {
      form.end = std::string(ending);
    }
  }

  // functions.NAME:0 and :1.
  static void read_number(std::string_view two, CallForm& form) {
    const size_t second = two.find(kSecond);
    if (!form.after_name.starts_with(":0") || second == std::string_view::npos) return;
    if (!two.substr(second + kSecond.size()).starts_with(":1")) return;
    form.after_name.replace(0, 2, 1, CallForm::kNumber);
  }

  const ChatTemplate& template_;
  PromptStyle style_ = {};
  Ids ids_ = {std::string(kFirstId), std::string(kSecondId)};
  std::string listed_;
};

}  // namespace

TemplateTraits probe_template(const ChatTemplate& chat_template) { return Prober(chat_template).probe(); }

}  // namespace wick
