#include "wick/text/chat/chat_template.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <ctime>

#include "wick/base/fail.h"
#include "wick/text/jinja/json_text.h"
#include "wick/text/jinja/parser.h"
#include "wick/text/jinja/renderer.h"
#include "wick/text/unicode/unicode.h"

namespace wick {

struct ChatTemplate::Parsed {
  std::string source;
  std::string name;
  std::shared_ptr<const jinja::Tree> tree;
};

namespace {

using jinja::Budget;
using jinja::Dict;
using jinja::Renderer;
using jinja::Value;
using jinja::Values;
using Variables = std::vector<std::pair<std::string, Value>>;

std::string format_time(const std::string& format, std::optional<int64_t> clock) {
  if (format.empty()) return {};
  const std::tm now = clock ? fmt::gmtime(static_cast<std::time_t>(*clock)) : fmt::localtime(std::time(nullptr));
  // A letter behind each %: the longest, %c, makes about 30 bytes of two.
  std::string text(format.size() * 32 + 64, '\0');
  text.resize(std::strftime(text.data(), text.size(), format.c_str(), &now));
  return text;
}

// JSON that a caller gave: its errors name the field.
Value parse_field(Budget& budget, const char* field, std::string_view json) {
  try {
    return jinja::from_json(budget, json);
  } catch (const jinja::Raised& raised) {
    fail(ErrorCode::invalid_argument, "{}: not JSON: {}", field, raised.message);
  }
}

class PromptValues {
 public:
  PromptValues(Budget& budget, bool parse_arguments) : budget_(budget), parse_arguments_(parse_arguments) {}

  Value messages(const std::vector<ChatMessage>& messages) {
    Values items;
    for (const ChatMessage& each : messages) items.push_back(message(each));
    return jinja::make_list(budget_, std::move(items));
  }

 private:
  Value text(const std::string& bytes) { return jinja::make_text(budget_, replace_invalid(bytes, InvalidBytes::one_per_subpart)); }
  void set(Dict& dict, const char* key, Value value) { dict.set(jinja::make_text(budget_, key), std::move(value)); }

  Value message(const ChatMessage& message) {
    auto dict = std::make_shared<Dict>(&budget_);
    set(*dict, "role", text(message.role));
    if (!message.content_parts.empty()) {
      set(*dict, "content", parse_field(budget_, "content", message.content_parts));
    } else {
      set(*dict, "content", message.content ? text(*message.content) : Value());
    }
    // The names that templates know it by, as transformers fills them.
    if (!message.reasoning.empty()) {
      set(*dict, "reasoning_content", text(message.reasoning));
      set(*dict, "thinking", text(message.reasoning));
    }
    if (!message.tool_calls.empty()) {
      Values calls;
      for (const ToolCall& call : message.tool_calls) calls.push_back(tool_call(call));
      set(*dict, "tool_calls", jinja::make_list(budget_, std::move(calls)));
    }
    if (!message.name.empty()) set(*dict, "name", text(message.name));
    if (!message.tool_call_id.empty()) set(*dict, "tool_call_id", text(message.tool_call_id));
    return jinja::make_dict(dict);
  }

  Value tool_call(const ToolCall& call) {
    auto function = std::make_shared<Dict>(&budget_);
    set(*function, "name", text(call.name));
    const std::string& json = call.arguments.empty() ? kNoArguments : call.arguments;
    set(*function, "arguments", parse_arguments_ ? arguments(json) : text(json));
    auto dict = std::make_shared<Dict>(&budget_);
    if (!call.id.empty()) set(*dict, "id", text(call.id));
    set(*dict, "type", text("function"));
    set(*dict, "function", jinja::make_dict(function));
    return jinja::make_dict(dict);
  }

  // What a model wrote may be no JSON: then it is the text.
  Value arguments(const std::string& json) {
    try {
      return jinja::from_json(budget_, json);
    } catch (const jinja::Raised&) {
      return text(json);
    }
  }

  static inline const std::string kNoArguments = "{}";
  Budget& budget_;
  bool parse_arguments_;
};

Variables variables_of(Renderer& renderer, const ChatPrompt& prompt, bool parse_arguments) {
  Budget& budget = renderer.budget();
  Variables variables;
  variables.emplace_back("messages", PromptValues(budget, parse_arguments).messages(prompt.messages));
  variables.emplace_back("tools", prompt.tools.empty() ? Value() : parse_field(budget, "tools", prompt.tools));
  variables.emplace_back("documents", Value());
  variables.emplace_back("add_generation_prompt", Value::boolean(prompt.add_generation_prompt));
  if (!prompt.bos_token.empty()) variables.emplace_back("bos_token", jinja::make_text(budget, prompt.bos_token));
  if (!prompt.eos_token.empty()) variables.emplace_back("eos_token", jinja::make_text(budget, prompt.eos_token));
  if (!prompt.variables.empty()) {
    const Value more = parse_field(budget, "template variables", prompt.variables);
    if (!more.is(jinja::Kind::dict)) fail(ErrorCode::invalid_argument, "template variables: not a JSON object");
    for (const auto& [key, value] : more.dict().entries) variables.emplace_back(key.text(), value);
  }
  return variables;
}

// transformers fills reasoning_content from its older names, and "thinking" for the templates that read that.
Value with_reasoning(Budget& budget, const Value& message) {
  if (!message.is(jinja::Kind::dict)) return message;
  const Value* reasoning = nullptr;
  for (const char* name : {"reasoning_content", "thinking", "reasoning"}) {
    const Value* value = message.dict().find(std::string_view(name));
    if (reasoning == nullptr && value != nullptr && !value->is(jinja::Kind::none)) reasoning = value;
  }
  if (reasoning == nullptr) return message;
  const Value found = *reasoning;
  auto dict = std::make_shared<Dict>(&budget);
  dict->set(jinja::make_text(budget, "thinking"), found);
  for (const auto& [key, value] : message.dict().entries) dict->set(key, value);
  dict->set(jinja::make_text(budget, "reasoning_content"), found);
  return jinja::make_dict(dict);
}

Variables variables_of(Renderer& renderer, std::string_view json) {
  Budget& budget = renderer.budget();
  const Value all = parse_field(budget, "template variables", json);
  if (!all.is(jinja::Kind::dict)) fail(ErrorCode::invalid_argument, "template variables: not a JSON object");
  Variables variables = {{"tools", {}}, {"documents", {}}, {"add_generation_prompt", Value::boolean(false)}};
  for (const auto& [key, value] : all.dict().entries) {
    Value given = value;
    if (key.text() == "messages" && value.is(jinja::Kind::list)) {
      Values messages;
      for (const Value& message : value.sequence().items) messages.push_back(with_reasoning(budget, message));
      given = jinja::make_list(budget, std::move(messages));
    }
    variables.emplace_back(key.text(), std::move(given));
  }
  return variables;
}

bool has_tool_calls(const ChatPrompt& prompt) {
  return std::any_of(prompt.messages.begin(), prompt.messages.end(),
                     [](const ChatMessage& message) { return !message.tool_calls.empty(); });
}

}  // namespace

ChatTemplate ChatTemplate::parse(std::string_view source, std::string name) {
  auto parsed = std::make_shared<Parsed>();
  parsed->source = replace_invalid(source, InvalidBytes::one_per_subpart);
  parsed->name = std::move(name);
  try {
    parsed->tree = jinja::parse_template(parsed->source);
  } catch (const jinja::SyntaxError& error) {
    fail(ErrorCode::invalid_argument, "{}: line {}: {}", parsed->name, error.line, error.message);
  }
  return ChatTemplate(std::move(parsed));
}

const std::string& ChatTemplate::source() const noexcept { return parsed_->source; }
const std::string& ChatTemplate::name() const noexcept { return parsed_->name; }
bool ChatTemplate::takes_tools() const noexcept { return parsed_->tree->symbol_of.contains("tools"); }

namespace {

// Runs once; what the template raised is left in `raised`.
template <class MakeVariables>
std::optional<std::string> try_render(Renderer& renderer, MakeVariables&& make_variables, jinja::Raised& raised) {
  try {
    const Variables variables = make_variables(renderer);
    return renderer.render(variables);
  } catch (jinja::Raised& error) {
    raised = std::move(error);
    return std::nullopt;
  }
}

[[noreturn]] void report(const std::string& name, int line, const jinja::Raised& raised) {
  // What the template itself refuses is said in its own words.
  const bool own = raised.type == "TemplateError" || raised.type == "UndefinedError" || raised.type == "LimitError";
  fail(ErrorCode::invalid_argument, "{}: line {}: {}{}", name, line, own ? "" : raised.type + ": ", raised.message);
}

}  // namespace

std::string ChatTemplate::render(const ChatPrompt& prompt) const {
  const jinja::Limits limits{.steps = limits_.steps,
                             .output_bytes = static_cast<size_t>(limits_.output_bytes),
                             .live_bytes = static_cast<size_t>(limits_.value_bytes)};
  const auto clock = clock_;
  jinja::Raised raised;
  int line = 0;
  // Most templates want the arguments of a call as an object; older ones concatenate them, and fail unless they are a text.
  for (const bool parse_arguments : {true, false}) {
    Renderer renderer(parsed_->tree, limits, [clock](const std::string& format) { return format_time(format, clock); });
    jinja::Raised now;
    auto text = try_render(renderer, [&](Renderer& of) { return variables_of(of, prompt, parse_arguments); }, now);
    if (text) return *std::move(text);
    if (parse_arguments) {
      raised = std::move(now);
      line = renderer.line();
    }
    if (raised.type != "TypeError" || !has_tool_calls(prompt)) break;
  }
  report(parsed_->name, line, raised);
}

std::string ChatTemplate::render_json(std::string_view variables) const {
  const jinja::Limits limits{.steps = limits_.steps,
                             .output_bytes = static_cast<size_t>(limits_.output_bytes),
                             .live_bytes = static_cast<size_t>(limits_.value_bytes)};
  const auto clock = clock_;
  Renderer renderer(parsed_->tree, limits, [clock](const std::string& format) { return format_time(format, clock); });
  jinja::Raised raised;
  auto text = try_render(renderer, [&](Renderer& of) { return variables_of(of, variables); }, raised);
  if (text) return *std::move(text);
  report(parsed_->name, renderer.line(), raised);
}

}  // namespace wick
