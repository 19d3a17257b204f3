#include "wick/text/chat/chat_template.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <mutex>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/text/chat/call_detection.h"
#include "wick/text/chat/call_ids.h"
#include "wick/text/jinja/json_text.h"
#include "wick/text/jinja/parser.h"
#include "wick/text/jinja/renderer.h"
#include "wick/text/unicode/unicode.h"

namespace wick {

struct ChatTemplate::Parsed {
  std::string source;
  std::string name;
  std::shared_ptr<const jinja::Tree> tree;
  std::once_flag probed;
  TemplateTraits traits;
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

constexpr std::array<const char*, 3> kReasoningNames = {"reasoning_content", "thinking", "reasoning"};

class PromptValues {
 public:
  PromptValues(Budget& budget, const PromptStyle& style) : budget_(budget), style_(style) {}

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
      const std::string content = message.content.value_or("");
      const bool is_none = style_.null_content && content.empty() && !message.tool_calls.empty();
      set(*dict, "content", is_none ? Value() : text(content));
    }
    // The names that templates know it by.
    if (!message.reasoning.empty()) {
      for (const char* const name : kReasoningNames) set(*dict, name, text(message.reasoning));
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
    set(*function, "arguments", style_.text_arguments ? text(json) : arguments(json));
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
  PromptStyle style_;
};

// What only the caller of render() says.
void check_variables(const Value& variables) {
  static constexpr std::array<std::string_view, 5> kOwn = {"messages", "tools", "add_generation_prompt", "bos_token", "eos_token"};
  if (!variables.is(jinja::Kind::dict)) fail(ErrorCode::invalid_argument, "template variables: not a JSON object");
  for (const auto& [key, value] : variables.dict().entries) {
    if (std::find(kOwn.begin(), kOwn.end(), key.text()) == kOwn.end()) continue;
    fail(ErrorCode::invalid_argument, "template variables: '{}' cannot be replaced; give it in the request itself", key.text());
  }
}

// Empty descriptions where there are none: templates concatenate them.
void complete_schema(nlohmann::ordered_json& schema, int depth) {
  if (!schema.is_object() || depth > 16) return;
  const auto properties = schema.find("properties");
  if (properties != schema.end() && properties->is_object()) {
    for (auto& [name, property] : properties->items()) {
      if (property.is_object() && !property.contains("description")) property["description"] = "";
      complete_schema(property, depth + 1);
    }
  }
  if (schema.contains("items")) complete_schema(schema["items"], depth + 1);
}

std::string completed_tools(const std::string& tools) {
  nlohmann::ordered_json list = parse_ordered_json(tools);
  if (!list.is_array()) return tools;
  for (auto& tool : list) {
    if (!tool.is_object()) continue;
    auto& function = tool.contains("function") && tool["function"].is_object() ? tool["function"] : tool;
    if (!function.contains("description") || !function["description"].is_string()) function["description"] = "";
    if (!function.contains("parameters") || !function["parameters"].is_object()) {
      function["parameters"] = {{"type", "object"}, {"properties", nlohmann::ordered_json::object()}};
    }
    auto& schema = function["parameters"];
    if (!schema.contains("type")) schema["type"] = "object";
    if (!schema.contains("properties")) schema["properties"] = nlohmann::ordered_json::object();
    if (!schema.contains("required")) schema["required"] = nlohmann::ordered_json::array();
    complete_schema(schema, 0);
  }
  return json_text(list);
}

Variables variables_of(Renderer& renderer, const ChatPrompt& prompt, const PromptStyle& style) {
  Budget& budget = renderer.budget();
  Variables variables;
  variables.emplace_back("messages", PromptValues(budget, style).messages(prompt.messages));
  const std::string& tools = prompt.tools;
  variables.emplace_back("tools",
                         tools.empty() ? Value() : parse_field(budget, "tools", style.complete_tools ? completed_tools(tools) : tools));
  variables.emplace_back("documents", Value());
  variables.emplace_back("add_generation_prompt", Value::boolean(prompt.add_generation_prompt));
  // A token that the model has not is the empty text.
  variables.emplace_back("bos_token", jinja::make_text(budget, prompt.bos_token));
  variables.emplace_back("eos_token", jinja::make_text(budget, prompt.eos_token));
  if (!prompt.variables.empty()) {
    const Value more = parse_field(budget, "template variables", prompt.variables);
    check_variables(more);
    for (const auto& [key, value] : more.dict().entries) variables.emplace_back(key.text(), value);
  }
  return variables;
}

// transformers fills reasoning_content from its older names, and "thinking" for the templates that read that.
Value with_reasoning(Budget& budget, const Value& message) {
  if (!message.is(jinja::Kind::dict)) return message;
  const Value* reasoning = nullptr;
  for (const char* const name : kReasoningNames) {
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
std::optional<std::string> try_render_with(Renderer& renderer, MakeVariables&& make_variables, jinja::Raised& raised) {
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

namespace {

// Styles to try, the likeliest first.
std::vector<PromptStyle> styles_for(const PromptStyle& own, const ChatPrompt& prompt) {
  std::vector<PromptStyle> styles = {own};
  const bool has_calls = has_tool_calls(prompt);
  for (const bool llama_cpp : {own.llama_cpp, !own.llama_cpp}) {
    for (const bool complete_tools : {false, true}) {
      if (complete_tools && prompt.tools.empty()) continue;
      for (const bool text_arguments : {own.text_arguments, !own.text_arguments}) {
        if (text_arguments != own.text_arguments && !has_calls) continue;
        styles.push_back({llama_cpp, text_arguments, own.null_content, complete_tools});
      }
    }
  }
  styles.erase(styles.begin() + 1);  // the template's own again
  return styles;
}

// For a template that writes calls but lists no tools: they are described before the conversation.
std::string tools_as_text(const std::string& tools) {
  std::string text = "You may call these tools:\n";
  for (const auto& tool : parse_ordered_json(tools)) {
    text += json_text(tool.is_object() && tool.contains("function") ? tool["function"] : tool) + "\n";
  }
  return text;
}

void describe_tools(ChatPrompt& prompt) {
  const std::string text = tools_as_text(prompt.tools);
  std::vector<ChatMessage>& messages = prompt.messages;
  if (!messages.empty() && messages.front().role == "system") {
    messages.front().content = messages.front().content.value_or("") + "\n\n" + text;
  } else {
    messages.insert(messages.begin(), {.role = "system", .content = text});
  }
}

}  // namespace

const TemplateTraits& ChatTemplate::traits() const {
  std::call_once(parsed_->probed, [&] {
    ChatTemplate prober = *this;
    constexpr ChatTemplateLimits kOfProbes{.steps = 500'000, .output_bytes = 4 << 20, .value_bytes = 32 << 20};
    prober.set_limits({.steps = std::min(limits_.steps, kOfProbes.steps),
                       .output_bytes = std::min(limits_.output_bytes, kOfProbes.output_bytes),
                       .value_bytes = std::min(limits_.value_bytes, kOfProbes.value_bytes)});
    parsed_->traits = probe_template(prober);
  });
  return parsed_->traits;
}

std::string ChatTemplate::render(const ChatPrompt& prompt) const {
  ChatPrompt changed;
  const ChatPrompt* given = &prompt;
  PromptStyle style;
  if (!prompt.tools.empty() || has_tool_calls(prompt)) {
    style = traits().style;
    changed = prompt;
    given = &changed;
    rewrite_call_ids(traits().syntax->ids, changed.messages);
    if (!prompt.tools.empty() && !traits().lists_tools) {
      if (!traits().writes_calls) {
        fail(ErrorCode::unsupported, "{}: the template has no place for tools; leave them out, or choose another one by --chat-template",
             parsed_->name);
      }
      describe_tools(changed);
      changed.tools.clear();
    }
  }
  std::optional<jinja::Raised> first;
  int line = 0;
  for (const PromptStyle& each : styles_for(style, *given)) {
    jinja::Raised raised;
    int raised_at = 0;
    std::optional<std::string> text = render_in(*given, each, raised, raised_at);
    if (text) return *std::move(text);
    if (!first) {
      first = raised;
      line = raised_at;
    }
    if (raised.type == "LimitError") break;
  }
  report(parsed_->name, line, *first);
}

std::optional<std::string> ChatTemplate::try_render(const ChatPrompt& prompt, const PromptStyle& style) const {
  jinja::Raised raised;
  int line = 0;
  return render_in(prompt, style, raised, line);
}

std::optional<std::string> ChatTemplate::render_in(const ChatPrompt& prompt, const PromptStyle& style, jinja::Raised& raised,
                                                   int& line) const {
  const jinja::Limits limits{.steps = limits_.steps,
                             .output_bytes = static_cast<size_t>(limits_.output_bytes),
                             .live_bytes = static_cast<size_t>(limits_.value_bytes)};
  const auto clock = clock_;
  Renderer renderer(
      parsed_->tree, limits, [clock](const std::string& format) { return format_time(format, clock); },
      style.llama_cpp ? jinja::Dialect::llama_cpp : jinja::Dialect::transformers);
  auto text = try_render_with(renderer, [&](Renderer& of) { return variables_of(of, prompt, style); }, raised);
  line = renderer.line();
  return text;
}

std::string ChatTemplate::render_json(std::string_view variables) const {
  const jinja::Limits limits{.steps = limits_.steps,
                             .output_bytes = static_cast<size_t>(limits_.output_bytes),
                             .live_bytes = static_cast<size_t>(limits_.value_bytes)};
  const auto clock = clock_;
  Renderer renderer(parsed_->tree, limits, [clock](const std::string& format) { return format_time(format, clock); });
  jinja::Raised raised;
  auto text = try_render_with(renderer, [&](Renderer& of) { return variables_of(of, variables); }, raised);
  if (text) return *std::move(text);
  report(parsed_->name, renderer.line(), raised);
}

}  // namespace wick
