#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/text/chat/chat_template.h"

namespace wick {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

ToolCall call_of(const Json& json) {
  const auto inner = json.find("function");
  const Json& function = inner != json.end() && inner->is_object() ? *inner : json;
  ToolCall call{.id = text_of(json, "id"), .name = text_of(function, "name")};
  const auto arguments = function.find("arguments");
  if (arguments != function.end()) call.arguments = arguments->is_string() ? arguments->get<std::string>() : json_text(*arguments);
  return call;
}

ChatMessage message_of(const Json& json) {
  ChatMessage message{.role = text_of(json, "role"), .name = text_of(json, "name"), .tool_call_id = text_of(json, "tool_call_id")};
  for (const char* const name : {"reasoning_content", "thinking", "reasoning"}) {
    if (message.reasoning.empty()) message.reasoning = text_of(json, name);
  }
  const auto content = json.find("content");
  if (content != json.end() && content->is_string()) message.content = content->get<std::string>();
  if (content != json.end() && content->is_array() && !content->empty()) message.content_parts = json_text(*content);
  const auto calls = json.find("tool_calls");
  if (calls == json.end() || !calls->is_array()) return message;
  for (const Json& call : *calls) {
    if (call.is_object()) message.tool_calls.push_back(call_of(call));
  }
  return message;
}

}  // namespace

std::vector<ChatMessage> chat_messages_from_json(std::string_view json) {
  const Json list = parse_ordered_json(std::string(json));
  if (!list.is_array()) fail(ErrorCode::invalid_argument, "messages: not a JSON array");
  std::vector<ChatMessage> messages;
  for (const Json& each : list) {
    if (!each.is_object() || text_of(each, "role").empty()) {
      fail(ErrorCode::invalid_argument, "messages[{}]: not an object with a role", messages.size());
    }
    messages.push_back(message_of(each));
  }
  return messages;
}

}  // namespace wick
