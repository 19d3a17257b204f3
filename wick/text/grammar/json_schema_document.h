// A SchemaDocument is a parsed JSON Schema: where each part of it is, and what its references mean.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "wick/base/json.h"

namespace wick {

// Keeps the order in which the schema names its properties.
using SchemaJson = nlohmann::ordered_json;

// Whether a keyword is there and true.
[[nodiscard]] inline bool is_true(const SchemaJson* value) { return value != nullptr && value->is_boolean() && value->get<bool>(); }

class SchemaDocument {
 public:
  // Errors: invalid_argument for text that is no JSON, is nested too deeply, or is no schema.
  explicit SchemaDocument(std::string_view text);

  [[nodiscard]] const SchemaJson& root() const noexcept { return root_; }
  // The JSON pointer of a part that is a schema: "#/properties/name".
  [[nodiscard]] const std::string& pointer(const SchemaJson& schema) const;
  // The schema that the reference in `schema` means: its $ref or $dynamicRef. Errors: unsupported for a document that is not here, and for
  // a dynamic reference that could mean several places; invalid_argument for a place that is not.
  [[nodiscard]] const SchemaJson& resolve(const SchemaJson& schema, const char* keyword);

  // The member of an object of the document by its name, however many there are; null where there is none.
  [[nodiscard]] const SchemaJson* member(const SchemaJson& object, const std::string& name);

  // Takes in a schema that says what `like` does in other words; `what` is added to its pointer. It may refer to any schema by number:
  // {"$ref": number_of(schema)}.
  const SchemaJson& add(SchemaJson schema, const SchemaJson& like, const char* what);
  [[nodiscard]] size_t number_of(const SchemaJson& schema);
  // Whether it is, or is a part of, one that was added.
  [[nodiscard]] bool is_made(const SchemaJson& schema) const;
  // Whether any part speaks of what others have not evaluated.
  [[nodiscard]] bool speaks_of_unevaluated() const noexcept { return speaks_of_unevaluated_; }

 private:
  struct Place {
    std::string pointer;
    std::string base;   // the absolute name of the resource that it belongs to; "" for a document without $id
    bool made = false;  // added
  };

  void visit(const SchemaJson& schema, Place place);
  [[nodiscard]] const SchemaJson* find_pointer(const std::string& pointer);
  void name_anchors(const SchemaJson& schema, const std::string& base);
  void visit_children(const SchemaJson& schema, const Place& place);
  [[nodiscard]] const SchemaJson& resolve_text(const Place& place, const std::string& reference, const char* keyword);

  SchemaJson root_;
  std::unordered_map<const SchemaJson*, Place> places_;
  std::unordered_map<std::string, const SchemaJson*> by_pointer_;  // those that were not added; empty until a reference needs it
  std::unordered_map<const SchemaJson*, std::unordered_map<std::string, const SchemaJson*>> members_;  // of large objects
  std::map<std::string, const SchemaJson*> resources_;                                                 // by absolute name
  std::map<std::pair<std::string, std::string>, const SchemaJson*> anchors_;                           // by resource and name
  std::map<std::string, size_t> dynamic_anchors_;  // how many resources have one of that name
  std::deque<SchemaJson> added_;
  std::vector<const SchemaJson*> numbered_;
  bool speaks_of_unevaluated_ = false;
};

}  // namespace wick
