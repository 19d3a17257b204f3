// A SchemaDocument is a parsed JSON Schema: where each part of it lies, and what its references mean.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

namespace wick {

// Keeps the order in which the schema names its properties.
using SchemaJson = nlohmann::ordered_json;

class SchemaDocument {
 public:
  // Errors: invalid_argument for text that is no JSON, is nested too deeply, or is no schema.
  explicit SchemaDocument(std::string_view text);

  [[nodiscard]] const SchemaJson& root() const noexcept { return root_; }
  // The JSON pointer of a part that is a schema: "#/properties/name".
  [[nodiscard]] const std::string& pointer(const SchemaJson& schema) const;
  // The schema that a $ref in `schema` means. Errors: unsupported for a document that is not here, invalid_argument for a place that is
  // not.
  [[nodiscard]] const SchemaJson& resolve(const SchemaJson& schema, const std::string& reference);

 private:
  struct Place {
    std::string pointer;
    std::string base;  // the absolute name of the resource that it belongs to; "" for a document without $id
  };

  void visit(const SchemaJson& schema, std::string pointer, std::string base);
  void visit_children(const SchemaJson& schema, const Place& place);

  SchemaJson root_;
  std::unordered_map<const SchemaJson*, Place> places_;
  std::map<std::string, const SchemaJson*> resources_;                        // by absolute name
  std::map<std::pair<std::string, std::string>, const SchemaJson*> anchors_;  // by resource and name
};

}  // namespace wick
