#include "wick/server/responses_request.h"

#include <utility>

#include "wick/base/fail.h"
#include "wick/base/log.h"
#include "wick/server/answer_format.h"
#include "wick/server/generation_fields.h"

namespace wick::server {
namespace {

constexpr size_t kMaxItems = 100'000;

std::string output_text(Fields& item, const std::string& path) {
  const Json* const output = item.find("output");
  if (output == nullptr) return "";
  if (output->is_string()) return output->get<std::string>();
  ChatMessage message;
  read_content(item, "output", path, message);
  return message.content.value_or("");
}

// Calls of one answer are one message of the assistant.
ChatMessage& assistant_message(ChatRequest& chat) {
  std::vector<ChatMessage>& messages = chat.chat.messages;
  if (messages.empty() || messages.back().role != "assistant") messages.push_back({.role = "assistant"});
  return messages.back();
}

void read_call(Fields& item, bool is_custom, ChatRequest& chat) {
  item.require("name");
  item.require("call_id");
  ToolCall call{.id = item.text("call_id").value_or(""), .name = item.text("name").value_or(""), .arguments = {}};
  if (is_custom) {
    call.arguments = to_text({{kCustomInput, item.text("input").value_or("")}});
  } else {
    call.arguments = item.text("arguments").value_or("{}");
    if (!is_json(call.arguments)) item.violate("arguments", "must be JSON");
  }
  assistant_message(chat).tool_calls.push_back(std::move(call));
}

// Calls of OpenAI's own tools (web_search_call, local_shell_call, image_generation_call …) and their results, in conversations that began
// elsewhere.
bool is_call_of_server(std::string_view type) {
  return type.ends_with("_call") || type.ends_with("_call_output") || type.starts_with("mcp_");
}

void read_reasoning(Fields& item, const std::string& path, ChatRequest& chat) {
  for (const char* name : {"content", "summary"}) {
    const Json* const parts = item.list(name);
    if (parts == nullptr || parts->empty()) continue;
    std::string text;
    for (const Json& part : *parts) {
      if (part.is_object() && part.contains("text") && part["text"].is_string()) {
        text += part["text"].get<std::string>();
      } else {
        item.violate_path(path + "." + name, "must hold texts");
      }
    }
    chat.chat.messages.push_back({.role = "assistant", .reasoning = std::move(text)});
    return;
  }
}

void read_item(Fields& fields, const Json& json, size_t index, ChatRequest& chat) {
  const std::string path = fmt::format("input[{}]", index);
  Fields item(json, path);
  const std::string type = item.text("type").value_or(item.has("role") ? "message" : "");
  if (type == "message") {
    ChatMessage message = read_message(item, json, path);
    // What an assistant thought stands in an item of its own before what it said.
    ChatMessage* const last = chat.chat.messages.empty() ? nullptr : &chat.chat.messages.back();
    if (message.role == "assistant" && last != nullptr && last->role == "assistant" && !last->content && last->tool_calls.empty()) {
      last->content = std::move(message.content);
    } else {
      chat.chat.messages.push_back(std::move(message));
    }
  } else if (type == "function_call" || type == "custom_tool_call") {
    read_call(item, type == "custom_tool_call", chat);
  } else if (type == "function_call_output" || type == "custom_tool_call_output") {
    item.require("call_id");
    item.require("output");
    chat.chat.messages.push_back({.role = "tool", .content = output_text(item, path), .tool_call_id = item.text("call_id").value_or("")});
  } else if (type == "reasoning") {
    read_reasoning(item, path, chat);
  } else if (is_call_of_server(type)) {
    log_warning("{}: {} is left out: this server has no tools of its own", path, type);
  } else if (json.is_object()) {
    item.violate("type", "must be message, function_call, function_call_output, custom_tool_call, custom_tool_call_output or reasoning");
  }
  fields.take(std::move(item.violations()));
}

void read_input(Fields& fields, ChatRequest& chat) {
  if (!fields.require("input")) return;
  const Json& input = *fields.find("input");
  if (input.is_string()) {
    chat.chat.messages.push_back({.role = "user", .content = input.get<std::string>()});
    return;
  }
  const Json* const items = fields.list("input");
  if (items == nullptr) return;
  if (items->empty() || items->size() > kMaxItems) fields.violate("input", fmt::format("must hold 1 to {} items", kMaxItems));
  for (size_t i = 0; i < std::min(items->size(), kMaxItems) && fields.violations().size() < 20; ++i)
    read_item(fields, (*items)[i], i, chat);
}

// A custom tool takes one text, of which its format may say more: a function with one argument, and the text is taken out again.
Json read_custom(Fields& tool, ChatRequest& chat) {
  const std::string name = read_function_name(tool);
  std::string description = tool.text("description").value_or("");
  std::string input = "the text that the tool is given";
  if (const Json* const format = tool.object("format")) {
    Fields members(*format, tool.path_of("format"));
    if (const auto definition = members.text("definition")) {
      input += fmt::format(", which follows this {} grammar:\n{}", members.text("syntax").value_or(""), *definition);
    }
    tool.take(std::move(members.violations()));
  }
  chat.custom_tools.push_back(name);
  return {{"name", name},
          {"description", std::move(description)},
          {"parameters",
           {{"type", "object"},
            {"properties", {{kCustomInput, {{"type", "string"}, {"description", std::move(input)}}}}},
            {"required", {kCustomInput}},
            {"additionalProperties", false}}}};
}

// A function stands here without an object of its own around it. A tool that OpenAI's servers would run has another type (web_search,
// image_generation …) and is left out: clients offer them to every server.
std::optional<Json> read_function(Fields& tool, ChatRequest& chat) {
  tool.require("type");
  const std::string type = tool.text("type").value_or("");
  if (type == "custom") return read_custom(tool, chat);
  if (type != "function") {
    if (!tool.is_violated("type")) log_warning("the tool {} is left out: this server has no tools of its own", type);
    return std::nullopt;
  }
  Json function = {{"name", read_function_name(tool)}};
  if (const auto description = tool.text("description")) function["description"] = *description;
  if (const Json* const parameters = tool.object("parameters")) function["parameters"] = *parameters;
  if (const auto strict = tool.boolean("strict")) function["strict"] = *strict;
  return function;
}

}  // namespace

void read_responses(Fields& fields, const Service& service, ChatRequest& chat) {
  if (const auto instructions = fields.text("instructions")) {
    chat.chat.messages.push_back({.role = "system", .content = instructions});
  }
  read_input(fields, chat);
  continue_last_message({}, chat);
  read_flat_tools(fields, chat, [&](Fields& tool) { return read_function(tool, chat); });
  read_tool_choice(fields, chat);
  for (const char* name : {"previous_response_id", "conversation", "prompt"}) {
    if (fields.has(name)) fields.violate(name, "is not supported: this server keeps no responses; send the whole input");
  }
  if (fields.boolean("background").value_or(false)) fields.violate("background", "must be false: this server keeps no responses");
  if (const Json* const text = fields.object("text")) {
    Fields members(*text, "text");
    chat.answer = read_named_format(members, "format");
    fields.take(std::move(members.violations()));
  }
  if (const Json* const reasoning = fields.object("reasoning")) {
    Fields members(*reasoning, "reasoning");
    if (const auto effort = members.text("effort")) chat.chat.variables = to_text({{"reasoning_effort", *effort}});
    fields.take(std::move(members.violations()));
  }
  read_generation(fields, service, chat.request);
  read_max_tokens(fields, service, {"max_output_tokens"}, kUnlimitedTokens, chat.request);
  chat.streams = fields.boolean("stream").value_or(false);
}

}  // namespace wick::server
