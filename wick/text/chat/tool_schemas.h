// ToolSchemas tell which parameters of which function are texts, where a call's own form does not.
#pragma once

#include <string>

#include "wick/base/fail.h"
#include "wick/base/json.h"

namespace wick {

class ToolSchemas {
  using Json = nlohmann::ordered_json;

 public:
  // `tools`: as in ChatPrompt. Errors: invalid_argument.
  explicit ToolSchemas(const std::string& tools) {
    if (tools.empty()) return;
    tools_ = parse_ordered_json(tools);
    if (!tools_.is_array()) fail(ErrorCode::invalid_argument, "tools: not a JSON array");
  }

  [[nodiscard]] bool is_text(const std::string& function, const std::string& parameter) const {
    for (const Json& tool : tools_) {
      if (!tool.is_object()) continue;
      const Json& declared = tool.contains("function") && tool["function"].is_object() ? tool["function"] : tool;
      const auto field = [](const Json* from, const std::string& key) -> const Json* {
        if (from == nullptr || !from->is_object()) return nullptr;
        const auto found = from->find(key);
        return found == from->end() ? nullptr : &*found;
      };
      const Json* name = field(&declared, "name");
      if (name == nullptr || *name != function) continue;
      const Json* type = field(field(field(field(&declared, "parameters"), "properties"), parameter), "type");
      return type != nullptr && *type == "string";
    }
    return false;
  }

 private:
  Json tools_ = Json::array();
};

}  // namespace wick
