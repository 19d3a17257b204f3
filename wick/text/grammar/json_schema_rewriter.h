// A SchemaRewriter says a keyword of JSON Schema by others: what `not`, `if`, `dependentSchemas` and an ambiguous `oneOf` mean.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/text/grammar/json_schema_document.h"

namespace wick {

// Keywords of schemas that the rewriter makes, and that no document has: a string or a number that is none of these values; a number that
// is no multiple; a string in which the pattern is not found.
inline constexpr const char* kDiffers = "$differs";
inline constexpr const char* kNoMultipleOf = "$noMultipleOf";
inline constexpr const char* kLacks = "$lacks";
// A name among its types: numbers that are no integers.
inline constexpr const char* kFraction = "$fraction";

// Whether the keyword says nothing of values itself: an annotation, what belongs to the document, or what only speaks beside another one.
[[nodiscard]] bool says_nothing(std::string_view keyword);

class SchemaRewriter {
 public:
  // `enforce_formats`: whether `format` is a condition.
  SchemaRewriter(SchemaDocument& document, bool enforce_formats) : document_(document), enforce_formats_(enforce_formats) {}

  // The negation of `schema`. Errors: unsupported, by name, for keywords whose negation cannot be enforced.
  [[nodiscard]] const SchemaJson& negated(const SchemaJson& schema);
  // The same as the schema's if, then and else.
  [[nodiscard]] const SchemaJson& conditional(const SchemaJson& schema);
  // The same as its dependentRequired and dependentSchemas.
  [[nodiscard]] const SchemaJson& dependencies(const SchemaJson& schema);
  // The same as its oneOf: a branch, and none of the others.
  [[nodiscard]] const SchemaJson& exactly_one(const SchemaJson& schema);

 private:
  using Alternatives = std::vector<SchemaJson>;

  template <class Make>
  const SchemaJson& made_once(const SchemaJson& schema, const char* what, Make&& make);
  // A schema that refers to `target`, and one that holds where it does not.
  [[nodiscard]] SchemaJson reference(const SchemaJson& target) { return {{"$ref", document_.number_of(target)}}; }
  [[nodiscard]] SchemaJson opposite(const SchemaJson& target) { return {{"not", reference(target)}}; }
  [[nodiscard]] SchemaJson negation_of(const SchemaJson& schema);
  void negate(const SchemaJson& schema, const std::string& keyword, const SchemaJson& value, Alternatives& into);
  bool negate_value(const SchemaJson& schema, const std::string& keyword, const SchemaJson& value, Alternatives& into);
  [[noreturn]] void refuse_long_array(const SchemaJson& schema, const std::string& keyword) const;
  bool negate_array(const SchemaJson& schema, const std::string& keyword, const SchemaJson& value, Alternatives& into);
  bool negate_object(const SchemaJson& schema, const std::string& keyword, const SchemaJson& value, Alternatives& into);
  bool negate_combination(const SchemaJson& schema, const std::string& keyword, const SchemaJson& value, Alternatives& into);

  SchemaDocument& document_;
  bool enforce_formats_;
  std::map<std::pair<const SchemaJson*, std::string>, const SchemaJson*> made_;
};

}  // namespace wick
