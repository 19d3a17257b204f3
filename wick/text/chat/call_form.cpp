#include "wick/text/chat/call_form.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/text/chat/tool_schemas.h"

namespace wick {
namespace {

using Json = nlohmann::ordered_json;
using Kind = OutputFormat::Kind;
using Arguments = CallForm::Arguments;

// White space between the parts of a call. Before a call that the model need not make it is not bounded: a bound would be counted in each
// place of a text where a call may begin.
constexpr const char* kBlanks = "[ \\t\\r\\n]{0,20}";
constexpr const char* kAnyBlanks = "[ \\t\\r\\n]*";
// Of the functions that calls are held to.
constexpr size_t kMaxTools = 1024;
constexpr std::string_view kGemmaQuote = "<|\"|>";
// Deeper values of Gemma's notation are not held to their schemas.
constexpr int kDeepestGemmaValue = 4;

OutputFormat marked(std::string_view text) { return {.kind = Kind::marked, .text = std::string(text)}; }
OutputFormat literal(std::string_view text) { return {.kind = Kind::literal, .text = std::string(text)}; }
OutputFormat pattern(std::string_view text) { return {.kind = Kind::regex, .text = std::string(text)}; }
OutputFormat sequence(std::vector<OutputFormat> parts) { return {.kind = Kind::sequence, .parts = std::move(parts)}; }
OutputFormat any_of(std::vector<OutputFormat> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  return {.kind = Kind::any_of, .parts = std::move(parts)};
}
OutputFormat optional(OutputFormat part) { return any_of({literal(""), std::move(part)}); }
OutputFormat schema_format(const Json& schema) { return {.kind = Kind::json_schema, .text = json_text(schema), .any_order = true}; }

bool is_blank(char byte) { return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r'; }

// Whether white space is between marks, brackets and lines, and not between the words of a text.
bool is_between_parts(std::string_view text, size_t at) {
  const size_t first = text.find_last_not_of(" \t\r\n", at), last = text.find_first_not_of(" \t\r\n", at);
  if (first == std::string_view::npos || last == std::string_view::npos) return true;
  return std::string_view(">]})`:").find(text[first]) != std::string_view::npos ||
         std::string_view("<[{").find(text[last]) != std::string_view::npos ||
         text.substr(first, last - first).find('\n') != std::string_view::npos;
}

// A form's own text: white space may differ, in JSON also at braces; an id is any id.
void add_text(std::string_view text, bool is_json, std::vector<OutputFormat>& parts, const char* blanks = kBlanks) {
  std::string plain;
  const auto flush = [&] {
    if (!plain.empty()) parts.push_back(marked(std::exchange(plain, {})));
  };
  const auto add_blanks = [&] {
    flush();
    if (parts.empty() || parts.back() != pattern(blanks)) parts.push_back(pattern(blanks));
  };
  bool in_mark = false;  // <function name="…">: its spaces are its own
  for (size_t at = 0; at < text.size(); ++at) {
    const char byte = text[at];
    if (byte == '<') in_mark = true;
    if (byte == '>') in_mark = false;
    if (byte == CallForm::kId || byte == CallForm::kNumber) {
      flush();
      parts.push_back(pattern(byte == CallForm::kId ? "[A-Za-z0-9_.:-]{1,64}" : ":[0-9]{1,4} ?"));
    } else if (is_blank(byte) && !in_mark && (is_json || is_between_parts(text, at))) {
      add_blanks();
    } else {
      if (is_json && byte == '}') add_blanks();
      plain += byte;
      if (is_json && byte == '{') add_blanks();
    }
  }
  flush();
}

OutputFormat text_of(std::string_view text, bool is_json = false) {
  std::vector<OutputFormat> parts;
  add_text(text, is_json, parts);
  return sequence(std::move(parts));
}

// A part of a schema as a schema of its own: it may refer to what the whole defines.
Json part_of(const Json& whole, Json part) {
  if (!part.is_object()) return part;
  for (const char* name : {"$defs", "definitions"}) {
    if (whole.contains(name) && !part.contains(name)) part[name] = whole[name];
  }
  return part;
}

bool is_required(const Json& schema, const std::string& name) {
  const auto required = schema.find("required");
  return required != schema.end() && required->is_array() && std::find(required->begin(), required->end(), name) != required->end();
}

// Whether a schema says more of texts than that they may be.
bool limits_texts(const Json& schema) {
  static constexpr std::array<const char*, 8> kLimits = {"enum", "const", "pattern", "format", "minLength", "maxLength", "not", "if"};
  if (schema.is_array()) return std::any_of(schema.begin(), schema.end(), limits_texts);
  if (!schema.is_object()) return false;
  for (const auto& [name, value] : schema.items()) {
    if (std::find(kLimits.begin(), kLimits.end(), name) != kLimits.end()) return true;
    const bool is_branch = name == "anyOf" || name == "oneOf" || name == "allOf";
    if (name == "$ref" || (is_branch && limits_texts(value))) return true;
  }
  return false;
}

// The values of a schema: texts without quotes, up to one of `marks`, and others as JSON. Empty where there are none of a kind.
struct Values {
  std::vector<OutputFormat> texts, others;
};
Values values_of(const Json& schema, const Json& whole, std::vector<std::string> marks) {
  Values values;
  const uint32_t types = types_of_schema(schema, whole);
  const auto part = [&](uint32_t of) { return part_of(whole, with_types(schema, types & of)); };
  const bool is_text = (types & JsonTypes::string) != 0, is_other = types != JsonTypes::string;
  if (is_text) {
    const Json texts = is_other ? part(JsonTypes::string) : part_of(whole, schema);
    values.texts.push_back({.kind = Kind::bare_string, .text = json_text(texts), .choices = std::move(marks)});
  }
  // A text that is held to nothing may be spelled as any other value is.
  if (is_other && (!is_text || limits_texts(schema))) {
    const Json others = is_text ? part(JsonTypes::all & ~static_cast<uint32_t>(JsonTypes::string)) : part_of(whole, schema);
    const bool is_possible = !is_text || !others["type"].empty();
    if (is_possible) values.others.push_back(schema_format(others));
  }
  return values;
}

OutputFormat tagged_argument(const CallForm& form, const std::string& name, const Json& whole, const Json& schema) {
  const auto wrapped = [&](std::string_view key_end, OutputFormat value) {
    return sequence({text_of(form.key_begin), literal(name), text_of(key_end), literal(form.lead), std::move(value), literal(form.tail),
                     text_of(form.value_end), text_of(form.separator)});
  };
  // Texts end where a mark of their end begins, not at the line break before.
  Values values = values_of(schema, whole, {form.value_end});
  std::vector<OutputFormat> choices;
  for (OutputFormat& text : values.texts) {
    if (form.cdata) {
      OutputFormat inside = text;
      inside.choices = {"]]>"};
      text.choices.emplace_back("<![CDATA[");
      text = any_of({std::move(text), sequence({literal("<![CDATA["), std::move(inside), literal("]]>")})});
    }
    choices.push_back(wrapped(form.text_key_end.empty() ? form.key_end : form.text_key_end, std::move(text)));
  }
  for (OutputFormat& other : values.others) choices.push_back(wrapped(form.key_end, std::move(other)));
  return any_of(std::move(choices));
}

OutputFormat gemma_value(const Json& schema, const Json& whole, int depth);

OutputFormat gemma_list(OutputFormat begin, OutputFormat item, OutputFormat end) {
  OutputFormat items{.kind = Kind::repeated, .parts = {std::move(item), literal(",")}};
  return sequence({std::move(begin), optional(std::move(items)), std::move(end)});
}

OutputFormat gemma_object(const Json& schema, const Json& whole, int depth);

OutputFormat gemma_value(const Json& schema, const Json& whole, int depth) {
  const uint32_t types = types_of_schema(schema, whole);
  std::vector<OutputFormat> choices;
  if ((types & JsonTypes::string) != 0) {
    OutputFormat text{.kind = Kind::bare_string,
                      .text = json_text(part_of(whole, with_types(schema, JsonTypes::string))),
                      .choices = {std::string(kGemmaQuote)}};
    choices.push_back(sequence({marked(kGemmaQuote), std::move(text), marked(kGemmaQuote)}));
  }
  const uint32_t scalars = types & (JsonTypes::null | JsonTypes::boolean | JsonTypes::number);
  if (scalars != 0) {
    const Json others = part_of(whole, with_types(schema, scalars));
    if (!others["type"].empty()) choices.push_back(schema_format(others));
  }
  const auto member = [&](const char* name) { return schema.is_object() && schema.contains(name) ? schema[name] : Json(true); };
  if ((types & JsonTypes::array) != 0 && depth < kDeepestGemmaValue) {
    choices.push_back(gemma_list(literal("["), gemma_value(member("items"), whole, depth + 1), literal("]")));
  }
  if ((types & JsonTypes::object) != 0 && depth < kDeepestGemmaValue) {
    choices.push_back(sequence({literal("{"), gemma_object(schema, whole, depth + 1), literal("}")}));
  }
  return choices.empty() ? literal("null") : any_of(std::move(choices));
}

OutputFormat members_of(const Json& schema, OutputFormat separator,
                        const std::function<OutputFormat(const std::string&, const Json&)>& make) {
  OutputFormat members{.kind = Kind::members};
  for (const auto& [name, property] : schema["properties"].items()) {
    members.parts.push_back(make(name, property));
    members.choices.emplace_back(is_required(schema, name) ? "required" : "");
  }
  members.parts.push_back(std::move(separator));
  return members;
}

bool lists_properties(const Json& schema) {
  return schema.is_object() && schema.contains("properties") && schema["properties"].is_object() && !schema["properties"].empty();
}

OutputFormat gemma_object(const Json& schema, const Json& whole, int depth) {
  if (lists_properties(schema)) {
    return members_of(schema, literal(","), [&](const std::string& name, const Json& property) {
      return sequence({literal(name + ":"), gemma_value(property, whole, depth)});
    });
  }
  if (schema.is_object() && schema.contains("properties")) return literal("");
  OutputFormat pair = sequence({pattern("[A-Za-z0-9_. -]{1,64}:"), gemma_value(Json(true), whole, depth + 1)});
  return optional({.kind = Kind::repeated, .parts = {std::move(pair), literal(",")}});
}

OutputFormat python_value(const Json& schema, const Json& whole) {
  const uint32_t types = types_of_schema(schema, whole);
  std::vector<OutputFormat> choices = {schema_format(part_of(whole, schema))};
  const bool is_free = !limits_texts(schema);
  if ((types & JsonTypes::boolean) != 0 && is_free) choices.push_back({.kind = Kind::choices, .choices = {"True", "False"}});
  if ((types & JsonTypes::null) != 0 && is_free) choices.push_back(literal("None"));
  return any_of(std::move(choices));
}

// What says nothing of its type is an object all the same.
OutputFormat json_arguments(Json schema) {
  if (schema.empty()) return {.kind = Kind::json};
  if (!schema.contains("type")) schema["type"] = "object";
  return schema_format(schema);
}

OutputFormat arguments_of(const CallForm& form, const Json& schema) {
  if (form.arguments == Arguments::json) return json_arguments(schema);
  if (form.arguments == Arguments::gemma) return gemma_object(schema, schema, 0);
  if (!lists_properties(schema)) return literal("");
  if (form.arguments == Arguments::python) {
    return members_of(schema, pattern(", ?"), [&](const std::string& name, const Json& property) {
      return sequence({literal(name + "="), python_value(property, schema)});
    });
  }
  return members_of(schema, literal(""),
                    [&](const std::string& name, const Json& property) { return tagged_argument(form, name, schema, property); });
}

// A name inside of JSON, or as it is.
OutputFormat name_of(const CallForm& form, const std::string& name) {
  const std::string quoted = json_text(Json(name));
  return literal(form.is_object ? quoted.substr(1, quoted.size() - 2) : name);
}

// What differs between the calls of two functions: the name, and the arguments.
OutputFormat named_arguments(const CallForm& form, const std::string& name, const Json& schema) {
  std::vector<OutputFormat> parts = {name_of(form, name)};
  add_text(form.after_name, form.is_object, parts);
  parts.push_back(arguments_of(form, schema));
  return sequence(std::move(parts));
}

void add_call_end(const CallForm& form, std::vector<OutputFormat>& parts) {
  const size_t id = form.call_end.find(CallForm::kId);
  if (form.is_object && id != std::string::npos) {
    // ', "id": "…"' as the template has it in earlier turns, or without.
    std::string without = form.call_end;
    const size_t comma = without.rfind(',', id), quote = without.find('"', id);
    if (comma != std::string::npos && quote != std::string::npos) without.erase(comma, quote + 1 - comma);
    parts.push_back(any_of({text_of(form.call_end, true), text_of(without, true)}));
  } else {
    add_text(form.call_end, form.is_object, parts);
  }
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

Json schema_of(const Json& function) {
  const auto schema = function.find("parameters");
  return schema != function.end() && schema->is_object() ? *schema : Json::object();
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
  if (form.arguments == Arguments::json || !lists_properties(schema)) {
    schema = {{"type", "object"}};
    return;
  }
  for (auto& [name, property] : schema["properties"].items()) {
    const Json alone = part_of(schema, {{"type", "object"}, {"properties", {{name, property}}}, {"required", {name}}});
    if (refusal_of(constraints, arguments_of(form, alone)).empty()) continue;
    const bool is_text = types_of_schema(property, schema) == JsonTypes::string;
    property = is_text ? Json{{"type", "string"}} : Json::object();
  }
}

template <class Make>
OutputFormat of_each(const std::string& tools, const std::string& only, const Make& make) {
  std::vector<OutputFormat> all;
  const Json list = list_of(tools);
  for (const Json& tool : list) {
    const Json& function = function_of(tool);
    const auto name = function["name"].get<std::string>();
    if (only.empty() || name == only) all.push_back(make(name, schema_of(function)));
  }
  if (all.empty()) fail(ErrorCode::invalid_argument, "tools: there is no function {}", only);
  return any_of(std::move(all));
}

}  // namespace

OutputFormat calls_of_form(const CallForm& form, const std::string& tools, const std::string& only, const CallRules& rules) {
  const char* const blanks = rules.required ? kBlanks : kAnyBlanks;
  std::vector<OutputFormat> call;
  add_text(form.call_begin, form.is_object, call, blanks);
  call.push_back(of_each(tools, only, [&](const std::string& name, const Json& schema) { return named_arguments(form, name, schema); }));
  add_call_end(form, call);
  OutputFormat calls = sequence(std::move(call));
  if (rules.parallel && form.parallel) {
    // Models write calls on lines of their own where their template joins them.
    OutputFormat between = form.between.empty() ? pattern(kBlanks) : text_of(form.between, form.is_object);
    calls = {.kind = Kind::repeated, .parts = {std::move(calls), std::move(between)}};
  }
  std::vector<OutputFormat> parts;
  add_text(form.begin, form.is_object, parts, blanks);
  parts.push_back(std::move(calls));
  add_text(form.end, form.is_object, parts);
  if (!form.turn_end.empty()) parts.push_back(optional(marked(form.turn_end)));
  return sequence(std::move(parts));
}

OutputFormat beginnings_of_calls(const CallForm& form, const std::string& tools, const std::string& only) {
  std::vector<OutputFormat> parts;
  add_text(form.begin, form.is_object, parts, kAnyBlanks);
  add_text(form.call_begin, form.is_object, parts, kAnyBlanks);
  parts.push_back(of_each(tools, only, [&](const std::string& name, const Json& /*schema*/) { return name_of(form, name); }));
  // What ends a name.
  const size_t solid = form.after_name.find_first_not_of(" \t\r\n");
  if (solid == 0) {
    const char first = form.after_name.front();
    parts.push_back(first == CallForm::kNumber || first == CallForm::kId ? pattern("[^A-Za-z0-9_.-]")
                                                                         : literal(std::string_view(&first, 1)));
  } else {
    parts.push_back(pattern("[ \\t\\r\\n<{]"));
  }
  return sequence(std::move(parts));
}

EnforceableTools enforceable_tools(const CallSyntax& syntax, const std::string& tools, ConstraintCompiler& constraints) {
  const CallForm* const form = syntax.forms.empty() ? nullptr : &syntax.forms.front();
  Json list = list_of(tools);
  if (list.size() > kMaxTools) {
    fail(ErrorCode::invalid_argument, "tools: calls can be held to {} functions at most, and there are {}; offer fewer", kMaxTools,
         list.size());
  }
  EnforceableTools result;
  for (size_t index = 0; index < list.size(); ++index) {
    Json& function = function_of(list[index]);
    const auto schema = function.find("parameters");
    if (schema == function.end() || !schema->is_object()) continue;
    const auto name = function["name"].get<std::string>();
    const std::string refusal = refusal_of(constraints, form == nullptr ? json_arguments(*schema) : named_arguments(*form, name, *schema));
    if (refusal.empty()) continue;
    result.refusals.push_back({index, name, refusal});
    if (form != nullptr) loosen(*form, constraints, *schema);
  }
  result.tools = form == nullptr ? tools : json_text(list);
  return result;
}

}  // namespace wick
