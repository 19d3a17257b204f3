#include "wick/server/answer_format.h"

#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/text/chat/call_form.h"

namespace wick::server {
namespace {

using Kind = OutputFormat::Kind;

constexpr size_t kMaxAnswerChoices = 10'000;

// A schema, or its text.
std::optional<OutputFormat> schema_of(Fields& fields, std::string_view name) {
  const Json* const value = fields.find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_object() || value->is_boolean()) return OutputFormat{.kind = Kind::json_schema, .text = to_text(*value)};
  if (value->is_string()) return OutputFormat{.kind = Kind::json_schema, .text = value->get<std::string>()};
  fields.violate(name, "must be a JSON Schema");
  return std::nullopt;
}

std::optional<OutputFormat> text_format(Fields& fields, std::string_view name, Kind kind) {
  const std::optional<std::string> text = fields.text(name);
  if (!text || text->empty()) return std::nullopt;
  return OutputFormat{.kind = kind, .text = *text};
}

std::optional<OutputFormat> choices_of(Fields& fields, std::string_view name) {
  std::vector<std::string> choices = fields.texts(name, kMaxAnswerChoices);
  if (fields.has(name) && choices.empty()) fields.violate(name, "must hold at least one text");
  if (choices.empty()) return std::nullopt;
  return OutputFormat{.kind = Kind::choices, .choices = std::move(choices)};
}

// All that a request asks for, with the names of the fields.
class FormatReader {
 public:
  explicit FormatReader(Fields& fields) : fields_(fields) {}

  void add(std::string field, std::optional<OutputFormat> format) {
    if (!format) return;
    if (found_) fields_.violate_path(field, fmt::format("cannot be combined with {}", found_->field));
    if (!found_) found_ = AnswerFormat{.format = std::move(*format), .field = std::move(field)};
  }
  [[nodiscard]] std::optional<AnswerFormat> take() { return std::move(found_); }

 private:
  Fields& fields_;
  std::optional<AnswerFormat> found_;
};

// OpenAI's json_schema stands in an object of that name in chats, and beside the type in responses; llama.cpp has a schema beside
// json_object.
void add_typed(Fields& fields, std::string_view name, FormatReader& reader) {
  const Json* const object = fields.object(name);
  if (object == nullptr) return;
  const std::string path = fields.path_of(name);
  Fields members(*object, path);
  members.require("type");
  const std::string type = members.text("type").value_or("");
  const Json* const inner = members.has("json_schema") ? members.object("json_schema") : nullptr;
  if (type == "json_object" && !members.has("schema")) {
    reader.add(path, OutputFormat{.kind = Kind::json});
  } else if (type == "json_schema" && inner != nullptr) {
    Fields more(*inner, path + ".json_schema");
    more.require("schema");
    (void)more.text("name");
    (void)more.boolean("strict");
    reader.add(path + ".json_schema.schema", schema_of(more, "schema"));
    members.take(std::move(more.violations()));
  } else if (type == "json_schema" && name == "response_format" && !members.has("schema")) {
    members.require("json_schema");
  } else if (type == "json_schema" || type == "json_object") {
    members.require("schema");
    reader.add(path + ".schema", schema_of(members, "schema"));
  } else if (type != "text" && members.find("type") != nullptr && members.find("type")->is_string()) {
    members.violate("type", "must be text, json_object or json_schema");
  }
  fields.take(std::move(members.violations()));
}

// vLLM's newer form: {"json": …} or regex, grammar, choice, json_object.
void add_structured(Fields& fields, FormatReader& reader) {
  const Json* const object = fields.object("structured_outputs");
  if (object == nullptr) return;
  Fields members(*object, "structured_outputs");
  reader.add("structured_outputs.json", schema_of(members, "json"));
  reader.add("structured_outputs.regex", text_format(members, "regex", Kind::regex));
  reader.add("structured_outputs.grammar", text_format(members, "grammar", Kind::grammar));
  reader.add("structured_outputs.choice", choices_of(members, "choice"));
  if (members.boolean("json_object").value_or(false)) reader.add("structured_outputs.json_object", OutputFormat{.kind = Kind::json});
  fields.take(std::move(members.violations()));
}

// Ollama's: "json", or a schema.
void add_ollama(Fields& fields, FormatReader& reader) {
  const Json* const format = fields.find("format");
  if (format == nullptr) return;
  if (format->is_string()) {
    const auto word = format->get<std::string>();
    if (word == "json") {
      reader.add("format", OutputFormat{.kind = Kind::json});
    } else if (!word.empty()) {
      fields.violate("format", "must be \"json\" or a JSON Schema");
    }
  } else {
    reader.add("format", schema_of(fields, "format"));
  }
}

std::unique_ptr<TokenConstraint> compiled(const Service& service, const OutputFormat& format, const std::string& field) {
  try {
    return service.constraints->compile(format);
  } catch (const Error& error) {
    throw ApiError({{.field = field, .constraint = error.what(), .value = ""}});
  }
}

// The tools with schemas that can be enforced; those of strict ones must be.
std::string held_tools(const Service& service, const ChatRequest& chat) {
  const Json tools = parse_ordered_json(chat.chat.tools);
  EnforceableTools held = enforceable_tools(*service.call_syntax, chat.chat.tools, *service.constraints);
  for (const EnforceableTools::Refusal& refusal : held.refusals) {
    if (tools[refusal.index]["function"].value("strict", Json(false)) != true) continue;
    throw ApiError({{.field = fmt::format("tools[{}].function.parameters", refusal.index), .constraint = refusal.reason, .value = ""}});
  }
  return std::move(held.tools);
}

}  // namespace

std::optional<AnswerFormat> read_answer_format(Fields& fields) {
  FormatReader reader(fields);
  add_typed(fields, "response_format", reader);
  reader.add("guided_json", schema_of(fields, "guided_json"));
  reader.add("guided_regex", text_format(fields, "guided_regex", Kind::regex));
  reader.add("guided_grammar", text_format(fields, "guided_grammar", Kind::grammar));
  reader.add("guided_choice", choices_of(fields, "guided_choice"));
  add_structured(fields, reader);
  reader.add("grammar", text_format(fields, "grammar", Kind::grammar));
  reader.add("json_schema", schema_of(fields, "json_schema"));
  add_ollama(fields, reader);
  return reader.take();
}

std::optional<AnswerFormat> read_named_format(Fields& fields, std::string_view name) {
  FormatReader reader(fields);
  add_typed(fields, name, reader);
  return reader.take();
}

void constrain(const Service& service, const std::optional<AnswerFormat>& format, Request& request) {
  if (format) request.params.constraint = compiled(service, format->format, format->field);
}

void constrain(const Service& service, ChatRequest& chat) {
  // What cannot be enforced is named by its own field.
  if (chat.answer) (void)compiled(service, chat.answer->format, chat.answer->field);
  ChatRules rules{.syntax = service.call_syntax,
                  .template_source = service.chat_template->source(),
                  .rendered = chat.rendered,
                  .calls = chat.calls,
                  .tools = chat.calls == ChatRules::Calls::none ? "" : held_tools(service, chat),
                  .only = chat.only_tool,
                  .parallel_calls = chat.parallel_calls,
                  .answer = chat.answer ? std::optional(chat.answer->format) : std::nullopt};
  std::optional<OutputFormat> format;
  try {
    format = chat_output_format(rules);
  } catch (const Error& error) {
    throw ApiError({{.field = "tool_choice", .constraint = error.what(), .value = ""}});
  }
  if (format) chat.request.params.constraint = compiled(service, *format, "tools");
}

}  // namespace wick::server
