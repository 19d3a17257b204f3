#include "wick/text/chat/call_form.h"

#include <optional>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/json.h"

namespace wick {
namespace {

using Json = nlohmann::ordered_json;
using Kind = OutputFormat::Kind;
using Arguments = CallForm::Arguments;

// The first form of a format whose sign is in the template; an empty sign is in every one.
constexpr CallForm kForms[] = {
    {"hermes", "<arg_key>", "<tool_call>", "<tool_call>", "\n", Arguments::keys, "</tool_call>", "\n"},
    {"hermes", "<function=", "<tool_call>", "<tool_call>\n<function=", ">\n", Arguments::parameters, "</function>\n</tool_call>", "\n"},
    {"hermes", "", "<tool_call>", "<tool_call>\n{\"name\": \"", "\", \"arguments\": ", Arguments::json, "}\n</tool_call>", "\n", "", true},
    {"llama3", "", "<|python_tag|>", "{\"name\": \"", "\", \"parameters\": ", Arguments::json, "}", "; ", "", true},
    {"mistral", "[ARGS]", "[TOOL_CALLS]", "[TOOL_CALLS]", "[ARGS]", Arguments::json, ""},
    {"mistral", "", "[TOOL_CALLS]", "{\"name\": \"", "\", \"arguments\": ", Arguments::json, "}", ", ", "]", true},
    {"deepseek", "｜DSML｜", "<｜DSML｜function_calls>", "<｜DSML｜invoke name=\"", "\">\n", Arguments::dsml, "</｜DSML｜invoke>\n", "",
     "</｜DSML｜function_calls>"},
    {"deepseek", "```json", "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>", "\n```json\n", Arguments::json,
     "\n```<｜tool▁call▁end｜>", "\n", "<｜tool▁calls▁end｜>"},
    {"deepseek", "", "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", Arguments::json, "<｜tool▁call▁end｜>", "",
     "<｜tool▁calls▁end｜>"},
    {"kimi", "", "<|tool_calls_section_begin|>", "<|tool_call_begin|>functions.", "<|tool_call_argument_begin|>", Arguments::json,
     "<|tool_call_end|>", "", "<|tool_calls_section_end|>", false, ":[0-9]{1,3} ?"},
    {"minimax", "", "<minimax:tool_call>", "<invoke name=\"", "\">\n", Arguments::parameters, "</invoke>\n", "", "</minimax:tool_call>"},
    {"gpt-oss", "", "<|channel|>commentary", "<|channel|>commentary to=functions.", "<|constrain|>json<|message|>", Arguments::json, "", "",
     "", false, " ?"},
};

// What is between `begin` and the first call.
std::string_view behind_begin(const CallForm& form) {
  if (form.format == "mistral") return form.spaced ? "[TOOL_CALLS][" : "";
  if (form.format == "deepseek") return form.arguments == Arguments::dsml ? "<｜DSML｜function_calls>\n" : form.begin;
  if (form.format == "kimi") return form.begin;
  if (form.format == "minimax") return "<minimax:tool_call>\n";
  return "";
}

OutputFormat marked(std::string_view text) { return {.kind = Kind::marked, .text = std::string(text)}; }
OutputFormat literal(std::string_view text) { return {.kind = Kind::literal, .text = std::string(text)}; }
OutputFormat pattern(std::string_view text) { return {.kind = Kind::regex, .text = std::string(text)}; }
OutputFormat sequence(std::vector<OutputFormat> parts) { return {.kind = Kind::sequence, .parts = std::move(parts)}; }
OutputFormat any_of(std::vector<OutputFormat> parts) { return {.kind = Kind::any_of, .parts = std::move(parts)}; }
OutputFormat schema_format(const Json& schema) { return {.kind = Kind::json_schema, .text = json_text(schema)}; }

// JSON's punctuation, where models differ in their spaces: ws where the text has a space, and at braces.
void add_spaced(std::string_view text, std::vector<OutputFormat>& parts) {
  static const OutputFormat kSpace = pattern("[ \\t\\n]{0,8}");
  std::string plain;
  const auto flush = [&] {
    if (!plain.empty()) parts.push_back(marked(std::exchange(plain, {})));
  };
  for (const char byte : text) {
    const bool is_blank = byte == ' ' || byte == '\n';
    if (is_blank || byte == '}') {
      flush();
      parts.push_back(kSpace);
    }
    if (!is_blank) plain += byte;
    if (byte == '{') {
      flush();
      parts.push_back(kSpace);
    }
  }
  flush();
}

// A part of a schema as a schema of its own: it may refer to what the whole defines.
Json part_of(const Json& whole, Json part) {
  if (!part.is_object()) return part;
  for (const char* name : {"$defs", "definitions"}) {
    if (whole.contains(name) && !part.contains(name)) part[name] = whole[name];
  }
  return part;
}

bool is_text_type(const Json& schema) { return schema.is_object() && schema.contains("type") && schema["type"] == "string"; }

struct ParameterForm {
  std::string_view begin, name_end, text_name_end, value_end, end;
};

ParameterForm parameter_form(const CallForm& form) {
  switch (form.arguments) {
    case Arguments::keys: return {"<arg_key>", "</arg_key>\n<arg_value>", {}, "</arg_value>", "\n"};
    case Arguments::dsml:
      return {"<｜DSML｜parameter name=\"", "\" string=\"false\">", "\" string=\"true\">", "</｜DSML｜parameter>", "\n"};
    case Arguments::parameters:
      if (form.format == "minimax") return {"<parameter name=\"", "\">", {}, "</parameter>", "\n"};
      return {"<parameter=", ">\n", {}, "\n</parameter>", "\n"};
    case Arguments::json: break;
  }
  return {};
}

// Texts are written as they are, without quotes. They end where a mark of their end begins, not at the line break before.
OutputFormat parameter_value(const ParameterForm& form, const Json& schema) {
  OutputFormat value = schema_format(schema);
  if (!is_text_type(schema)) return value;
  value.kind = Kind::bare_string;
  value.choices = {std::string(form.value_end.starts_with('\n') ? form.value_end.substr(1) : form.value_end)};
  return value;
}

OutputFormat parameter(const ParameterForm& form, const std::string& name, const Json& whole, const Json& schema) {
  const bool is_text = is_text_type(schema);
  const std::string_view name_end = is_text && !form.text_name_end.empty() ? form.text_name_end : form.name_end;
  return sequence({marked(form.begin), literal(name), marked(name_end), parameter_value(form, part_of(whole, schema)),
                   marked(form.value_end), marked(form.end)});
}

// Each parameter of an object's schema once, in its order; what is not required may be left out.
OutputFormat parameters(const CallForm& form, const Json& schema) {
  std::vector<OutputFormat> parts;
  if (!schema.contains("properties") || !schema["properties"].is_object()) return literal("");
  const Json required = schema.value("required", Json::array());
  for (const auto& [name, property] : schema["properties"].items()) {
    OutputFormat one = parameter(parameter_form(form), name, schema, property);
    bool is_required = false;
    for (const Json& item : required) is_required = is_required || item == name;
    parts.push_back(is_required ? std::move(one) : any_of({std::move(one), literal("")}));
  }
  return parts.empty() ? literal("") : sequence(std::move(parts));
}

// What says nothing of its type is an object all the same.
OutputFormat json_arguments(Json schema) {
  if (schema.empty()) return {.kind = Kind::json};
  if (!schema.contains("type")) schema["type"] = "object";
  return schema_format(schema);
}

OutputFormat one_call(const CallForm& form, const std::string& name, const Json& schema) {
  std::vector<OutputFormat> parts;
  const auto add = [&](std::string_view text) {
    if (form.spaced) {
      add_spaced(text, parts);
    } else if (!text.empty()) {
      parts.push_back(marked(text));
    }
  };
  add(form.before_name);
  const std::string quoted = json_text(Json(name));
  parts.push_back(literal(form.spaced ? quoted.substr(1, quoted.size() - 2) : name));
  if (!form.number.empty()) parts.push_back(pattern(form.number));
  add(form.after_name);
  parts.push_back(form.arguments == Arguments::json ? json_arguments(schema) : parameters(form, schema));
  add(form.call_end);
  return sequence(std::move(parts));
}

// The function that an entry of a list of tools declares.
template <class AnyJson>
AnyJson& function_of(AnyJson& tool) {
  AnyJson& function = tool.is_object() && tool.contains("function") ? tool["function"] : tool;
  if (!function.is_object() || !function.contains("name") || !function["name"].is_string()) {
    fail(ErrorCode::invalid_argument, "tools: {} is no function with a name", json_text(tool));
  }
  return function;
}

Json list_of(const std::string& tools) {
  Json list = parse_ordered_json(tools);
  if (!list.is_array()) fail(ErrorCode::invalid_argument, "tools: not a JSON array");
  return list;
}

// Why a format cannot be enforced; empty: it can.
std::string refusal_of(ConstraintCompiler& constraints, const OutputFormat& format) {
  try {
    static_cast<void>(constraints.compile(format));
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

// Leaves of a function's schema what can be enforced.
void loosen(const CallForm& form, ConstraintCompiler& constraints, Json& schema) {
  if (form.arguments == Arguments::json) {
    schema = {{"type", "object"}};
    return;
  }
  if (!schema.contains("properties") || !schema["properties"].is_object()) return;
  for (auto& [name, property] : schema["properties"].items()) {
    if (refusal_of(constraints, parameter_value(parameter_form(form), part_of(schema, property))).empty()) continue;
    property = is_text_type(property) ? Json{{"type", "string"}} : Json::object();
  }
}

}  // namespace

const CallForm* find_call_form(std::string_view format, std::string_view template_source) {
  for (const CallForm& form : kForms) {
    if (form.format == format && template_source.find(form.sign) != std::string_view::npos) return &form;
  }
  return nullptr;
}

OutputFormat calls_of_form(const CallForm& form, const std::string& tools, const std::string& only, bool parallel) {
  const Json list = list_of(tools);
  std::vector<OutputFormat> calls;
  for (const Json& tool : list) {
    const Json& function = function_of(tool);
    const auto name = function["name"].get<std::string>();
    if (!only.empty() && name != only) continue;
    const auto schema = function.find("parameters");
    calls.push_back(one_call(form, name, schema != function.end() && schema->is_object() ? *schema : Json::object()));
  }
  if (calls.empty()) fail(ErrorCode::invalid_argument, "tools: there is no function {}", only);
  OutputFormat call = any_of(std::move(calls));
  if (parallel && form.format != "gpt-oss") call = {.kind = Kind::repeated, .parts = {std::move(call), marked(form.between)}};
  return sequence({marked(behind_begin(form)), std::move(call), marked(form.end)});
}

EnforceableTools enforceable_tools(std::string_view format, std::string_view template_source, const std::string& tools,
                                   ConstraintCompiler& constraints) {
  const CallForm* const form = find_call_form(format, template_source);
  Json list = list_of(tools);
  EnforceableTools result;
  for (size_t index = 0; index < list.size(); ++index) {
    Json& function = function_of(list[index]);
    const auto schema = function.find("parameters");
    if (schema == function.end() || !schema->is_object()) continue;
    const auto name = function["name"].get<std::string>();
    const std::string refusal = refusal_of(constraints, form == nullptr ? json_arguments(*schema) : one_call(*form, name, *schema));
    if (refusal.empty()) continue;
    result.refusals.push_back({index, name, refusal});
    if (form != nullptr) loosen(*form, constraints, *schema);
  }
  result.tools = form == nullptr ? tools : json_text(list);
  return result;
}

}  // namespace wick
