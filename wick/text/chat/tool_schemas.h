// ToolSchemas tell which functions there are, and which types of JSON an argument of one may have.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "wick/base/json.h"

namespace wick {

// The types of JSON as bits. An integer is a number too.
struct JsonTypes {
  enum : uint32_t { null = 1, boolean = 2, number = 4, string = 8, array = 16, object = 32, all = 63 };
};

// Which types a value of `schema` may have; `whole` is what "$ref" refers to. What it says of values beyond their type counts only where it
// lists them (enum, const).
[[nodiscard]] uint32_t types_of_schema(const nlohmann::ordered_json& schema, const nlohmann::ordered_json& whole);
// `schema` with these types alone, as far as it allows them.
[[nodiscard]] nlohmann::ordered_json with_types(nlohmann::ordered_json schema, uint32_t types);

class ToolSchemas {
 public:
  using Json = nlohmann::ordered_json;

  // `tools`: as in ChatPrompt. Errors: invalid_argument.
  explicit ToolSchemas(const std::string& tools);

  [[nodiscard]] bool empty() const noexcept { return functions_.empty(); }
  [[nodiscard]] bool has(std::string_view function) const { return functions_.find(function) != functions_.end(); }
  // Whether the name of a function begins so.
  [[nodiscard]] bool has_beginning(std::string_view beginning) const;
  [[nodiscard]] size_t longest_name() const noexcept { return longest_name_; }
  // JsonTypes::all where nothing is said of it.
  [[nodiscard]] uint32_t types(const std::string& function, const std::string& argument) const;

 private:
  std::map<std::string, Json, std::less<>> functions_;  // the schemas of their parameters
  size_t longest_name_ = 0;
};

}  // namespace wick
