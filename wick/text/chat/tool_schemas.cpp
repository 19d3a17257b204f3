#include "wick/text/chat/tool_schemas.h"

#include <algorithm>
#include <array>
#include <utility>

#include "wick/base/fail.h"

namespace wick {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDeepestReference = 32;

constexpr std::array<std::pair<std::string_view, uint32_t>, 7> kTypeNames = {{{"null", JsonTypes::null},
                                                                              {"boolean", JsonTypes::boolean},
                                                                              {"number", JsonTypes::number},
                                                                              {"integer", JsonTypes::number},
                                                                              {"string", JsonTypes::string},
                                                                              {"array", JsonTypes::array},
                                                                              {"object", JsonTypes::object}}};

uint32_t type_of_value(const Json& value) {
  if (value.is_null()) return JsonTypes::null;
  if (value.is_boolean()) return JsonTypes::boolean;
  if (value.is_number()) return JsonTypes::number;
  if (value.is_string()) return JsonTypes::string;
  return value.is_array() ? JsonTypes::array : JsonTypes::object;
}

uint32_t types_named(const Json& names) {
  uint32_t types = 0;
  const auto add = [&](const Json& name) {
    for (const auto& [known, type] : kTypeNames) types |= name == known ? type : 0;
  };
  if (names.is_array()) {
    for (const Json& name : names) add(name);
  } else {
    add(names);
  }
  return types;
}

const Json* resolve(const Json& reference, const Json& whole) {
  if (!reference.is_string()) return nullptr;
  const auto text = reference.get<std::string>();
  if (text == "#") return &whole;
  if (!text.starts_with("#/")) return nullptr;
  try {
    const Json::json_pointer pointer(text.substr(1));
    return whole.contains(pointer) ? &whole.at(pointer) : nullptr;
  } catch (const Json::exception&) {
    return nullptr;
  }
}

uint32_t types_of(const Json& schema, const Json& whole, int depth) {
  if (schema.is_boolean()) return schema.get<bool>() ? static_cast<uint32_t>(JsonTypes::all) : 0;
  if (!schema.is_object() || depth > kDeepestReference) return JsonTypes::all;
  uint32_t types = JsonTypes::all;
  if (const auto type = schema.find("type"); type != schema.end()) types &= types_named(*type);
  if (const auto value = schema.find("const"); value != schema.end()) types &= type_of_value(*value);
  if (const auto values = schema.find("enum"); values != schema.end() && values->is_array()) {
    uint32_t listed = 0;
    for (const Json& value : *values) listed |= type_of_value(value);
    types &= listed;
  }
  if (const auto reference = schema.find("$ref"); reference != schema.end()) {
    if (const Json* const target = resolve(*reference, whole)) types &= types_of(*target, whole, depth + 1);
  }
  for (const char* const name : {"anyOf", "oneOf"}) {
    const auto branches = schema.find(name);
    if (branches == schema.end() || !branches->is_array()) continue;
    uint32_t any = 0;
    for (const Json& branch : *branches) any |= types_of(branch, whole, depth + 1);
    types &= any;
  }
  if (const auto parts = schema.find("allOf"); parts != schema.end() && parts->is_array()) {
    for (const Json& part : *parts) types &= types_of(part, whole, depth + 1);
  }
  // OpenAPI's way to say "or null".
  if (const auto nullable = schema.find("nullable"); nullable != schema.end() && *nullable == true) types |= JsonTypes::null;
  return types;
}

}  // namespace

uint32_t types_of_schema(const Json& schema, const Json& whole) { return types_of(schema, whole, 0); }

Json with_types(Json schema, uint32_t types) {
  if (!schema.is_object()) schema = Json::object();
  Json names = Json::array();
  const uint32_t named = schema.contains("type") ? types_named(schema["type"]) : static_cast<uint32_t>(JsonTypes::all);
  const bool whole_numbers =
      schema.contains("type") && !(schema["type"] == "number") &&
      !(schema["type"].is_array() && std::find(schema["type"].begin(), schema["type"].end(), "number") != schema["type"].end());
  for (const auto& [name, type] : kTypeNames) {
    if ((type & types & named) == 0) continue;
    if (type == JsonTypes::number && (name == "integer") != (schema.contains("type") && whole_numbers)) continue;
    names.push_back(name);
  }
  schema["type"] = std::move(names);
  return schema;
}

ToolSchemas::ToolSchemas(const std::string& tools) {
  if (tools.empty()) return;
  const Json list = parse_ordered_json(tools);
  if (!list.is_array()) fail(ErrorCode::invalid_argument, "tools: not a JSON array");
  for (const Json& tool : list) {
    if (!tool.is_object()) continue;
    const auto inner = tool.find("function");
    const Json& declared = inner != tool.end() && inner->is_object() ? *inner : tool;
    const auto name = declared.find("name");
    if (name == declared.end() || !name->is_string()) continue;
    const auto schema = declared.find("parameters");
    auto text = name->get<std::string>();
    longest_name_ = std::max(longest_name_, text.size());
    functions_.emplace(std::move(text), schema == declared.end() ? Json::object() : *schema);
  }
}

bool ToolSchemas::has_beginning(std::string_view beginning) const {
  const auto next = functions_.lower_bound(beginning);
  return next != functions_.end() && std::string_view(next->first).starts_with(beginning);
}

uint32_t ToolSchemas::types(const std::string& function, const std::string& argument) const {
  const auto found = functions_.find(function);
  if (found == functions_.end() || !found->second.is_object()) return JsonTypes::all;
  const auto properties = found->second.find("properties");
  if (properties == found->second.end() || !properties->is_object()) return JsonTypes::all;
  const auto schema = properties->find(argument);
  return schema == properties->end() ? static_cast<uint32_t>(JsonTypes::all) : types_of_schema(*schema, found->second);
}

}  // namespace wick
