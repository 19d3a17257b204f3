#include "wick/server/anthropic_request.h"

#include <utility>

#include "wick/base/fail.h"
#include "wick/base/log.h"
#include "wick/server/answer_format.h"

namespace wick::server {
namespace {

std::string block_type(const Json& block) {
  return block.is_object() && block.contains("type") && block["type"].is_string() ? block["type"].get<std::string>() : std::string();
}

std::string document_text(Fields& block, const std::string& path);

// The text of a block list, or of a text: of a tool's result, say.
std::string text_of_blocks(Fields& fields, const Json& content, const std::string& path) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  if (!content.is_array()) {
    fields.violate_path(path, "must be a text or a list of blocks", shown(content));
    return text;
  }
  for (size_t i = 0; i < content.size(); ++i) {
    if (block_type(content[i]) == "text" && content[i].contains("text") && content[i]["text"].is_string()) {
      text += content[i]["text"].get<std::string>();
    } else if (block_type(content[i]) == "document") {
      const std::string inner = fmt::format("{}[{}]", path, i);
      Fields members(content[i], inner);
      text += document_text(members, inner);
      fields.take(std::move(members.violations()));
    } else {
      fields.violate_path(fmt::format("{}[{}]", path, i), "must be a text block: this model reads text only", shown(content[i]));
    }
  }
  return text;
}

// The text of a document that is plain text; of others nothing can be read.
std::string document_text(Fields& block, const std::string& path) {
  block.require("source");
  const Json* const source = block.object("source");
  if (source == nullptr) return "";
  Fields members(*source, path + ".source");
  const std::string type = members.text("type").value_or("");
  std::string text;
  for (const char* name : {"title", "context"}) {
    if (const auto value = block.text(name); value && !value->empty()) text += *value + "\n";
  }
  if (type == "text") {
    members.require("data");
    text += members.text("data").value_or("");
  } else if (type == "content") {
    const Json* const content = members.find("content");
    text += content == nullptr ? "" : text_of_blocks(members, *content, path + ".source.content");
  } else {
    members.violate("type", "must be text or content: this model reads documents of plain text only");
  }
  block.take(std::move(members.violations()));
  return text;
}

// Calls of the API's own tools (web search and the like) and their results, in conversations that began elsewhere.
bool is_of_server_tool(std::string_view type) {
  return type == "server_tool_use" || (type.ends_with("_tool_result") && type != "tool_result");
}

// One block of a message: text and calls go into `message`, results of tools become messages of their own.
void read_block(Fields& fields, const Json& block, const std::string& path, ChatMessage& message, std::vector<ChatMessage>& results) {
  const std::string type = block_type(block);
  Fields members(block, path);
  if (type == "text") {
    members.require("text");
    message.content = message.content.value_or("") + members.text("text").value_or("");
  } else if (type == "thinking") {
    message.reasoning += members.text("thinking").value_or("");
  } else if (type == "redacted_thinking") {
    // Its text is not ours to read.
  } else if (type == "document") {
    message.content = message.content.value_or("") + document_text(members, path);
  } else if (is_of_server_tool(type)) {
    log_warning("{}: {} is left out: this server has no tools of its own", path, type);
  } else if (type == "tool_use") {
    members.require("name");
    const Json* const input = members.object("input");
    message.tool_calls.push_back({.id = members.text("id").value_or(""),
                                  .name = members.text("name").value_or(""),
                                  .arguments = input == nullptr ? "{}" : to_text(*input)});
  } else if (type == "tool_result") {
    const Json* const content = members.find("content");
    results.push_back({.role = "tool",
                       .content = content == nullptr ? "" : text_of_blocks(members, *content, path + ".content"),
                       .tool_call_id = members.text("tool_use_id").value_or("")});
  } else {
    members.violate_path(path + ".type", "must be text, document, thinking, tool_use or tool_result: this model reads text only", type);
  }
  fields.take(std::move(members.violations()));
}

void read_block_message(Fields& fields, const Json& json, const std::string& path, std::vector<ChatMessage>& messages) {
  Fields members(json, path);
  ChatMessage message;
  if (members.require("role")) {
    message.role = members.text("role").value_or("");
    if (message.role != "user" && message.role != "assistant" && message.role != "system") {
      members.violate("role", "must be user or assistant");
    }
  }
  std::vector<ChatMessage> results;
  if (members.find("content") == nullptr && message.role == "assistant") {
    message.content = "";
  } else if (members.require("content")) {
    const Json& content = *members.find("content");
    if (content.is_string()) {
      message.content = content.get<std::string>();
    } else if (content.is_array()) {
      for (size_t i = 0; i < content.size(); ++i) {
        read_block(members, content[i], fmt::format("{}.content[{}]", path, i), message, results);
      }
    } else {
      members.violate("content", "must be a text or a list of blocks");
    }
  }
  fields.take(std::move(members.violations()));
  const bool only_results = !results.empty() && !message.content && message.tool_calls.empty();
  // Of calls alone too: this API knows no message without a text, and templates look into it.
  if (!message.content) message.content = "";
  for (ChatMessage& result : results) messages.push_back(std::move(result));
  if (!only_results) messages.push_back(std::move(message));
}

// A tool that Anthropic's servers would run has a type of its own ("web_search_20250305"); one of the client's has none, or "custom".
std::optional<Json> read_named_tool(Fields& tool) {
  if (const std::string type = tool.text("type").value_or("custom"); type != "custom") {
    log_warning("the tool {} ({}) is left out: this server has no tools of its own", tool.text("name").value_or(type), type);
    return std::nullopt;
  }
  Json function = {{"name", read_function_name(tool)}, {"description", tool.text("description").value_or("")}};
  const Json* const schema = tool.object("input_schema");
  function["parameters"] = schema == nullptr ? Json::object() : *schema;
  if (const auto strict = tool.boolean("strict")) function["strict"] = *strict;
  return function;
}

// {"type": "auto"}, any, none, or {"type": "tool", "name": …}; with disable_parallel_tool_use one call at most.
void read_choice(Fields& fields, ChatRequest& chat) {
  const Json* const choice = fields.object("tool_choice");
  if (choice == nullptr) return;
  Fields members(*choice, "tool_choice");
  const std::string type = members.text("type").value_or("");
  if (type != "auto" && type != "any" && type != "none" && type != "tool") members.violate("type", "must be auto, any, tool or none");
  if (type == "tool") members.require("name");
  const std::string name = type == "tool" ? members.text("name").value_or("") : "";
  chat.parallel_calls = !members.boolean("disable_parallel_tool_use").value_or(false);
  fields.take(std::move(members.violations()));
  choose_tool(fields, type == "any" || type == "tool" ? "required" : type == "none" ? "none" : "auto", name, chat);
}

// Beside Anthropic's own name, the one that it has in output_config.
void read_output_format(Fields& fields, ChatRequest& chat) {
  chat.answer = read_named_format(fields, "output_format");
  if (const Json* const config = fields.object("output_config"); config != nullptr && !chat.answer) {
    Fields members(*config, "output_config");
    chat.answer = read_named_format(members, "format");
    fields.take(std::move(members.violations()));
  }
}

// The system blocks without the one that Claude Code sends for Anthropic's accounting: it has another hash in each request, so that no
// two prompts would have the same beginning.
Json without_billing_header(const Json& system) {
  constexpr std::string_view kHeader = "x-anthropic-billing-header:";
  const auto is_header = [&](const Json& text) { return text.is_string() && text.get_ref<const std::string&>().starts_with(kHeader); };
  if (is_header(system)) return Json::array();
  if (!system.is_array()) return system;
  Json kept = Json::array();
  for (const Json& block : system) {
    if (block_type(block) != "text" || !block.contains("text") || !is_header(block["text"])) kept.push_back(block);
  }
  return kept;
}

}  // namespace

void read_anthropic_chat(Fields& fields, ChatRequest& chat) {
  if (const Json* const system = fields.find("system")) {
    std::string text = text_of_blocks(fields, without_billing_header(*system), "system");
    if (!text.empty()) chat.chat.messages.push_back({.role = "system", .content = std::move(text)});
  }
  read_messages(fields,
                [&](const Json& message, const std::string& path) { read_block_message(fields, message, path, chat.chat.messages); });
  // An answer that has been begun for the model.
  continue_last_message({}, chat);
  read_flat_tools(fields, chat, read_named_tool);
  read_choice(fields, chat);
  read_output_format(fields, chat);
  if (const Json* const thinking = fields.object("thinking")) {
    Fields members(*thinking, "thinking");
    const std::string type = members.text("type").value_or("");
    // "adaptive" leaves it to the model, as a request without this field does.
    if (type == "enabled" || type == "disabled") {
      chat.chat.variables = to_text({{"enable_thinking", type == "enabled"}});
    } else if (type != "adaptive") {
      members.violate("type", "must be enabled, disabled or adaptive");
    }
    fields.take(std::move(members.violations()));
  }
}

}  // namespace wick::server
