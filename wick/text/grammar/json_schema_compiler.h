// A SchemaCompiler turns a JSON Schema into rules of a Grammar; what it cannot enforce it refuses by name.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wick/text/grammar/dfa.h"
#include "wick/text/grammar/format_grammar.h"
#include "wick/text/grammar/json_number.h"
#include "wick/text/grammar/json_schema_document.h"
#include "wick/text/grammar/json_text.h"

namespace wick {

class SchemaCompiler {
 public:
  SchemaCompiler(SchemaDocument& document, const JsonOptions& options, Grammar& grammar);

  // Of the whole document.
  ExpressionId compile();

 private:
  // One of the schemas that must all hold for a value. A bit of `done` says that a keyword of it has been dealt with.
  struct Item {
    const SchemaJson* schema = nullptr;
    uint32_t done = 0;
    [[nodiscard]] auto operator<=>(const Item&) const = default;
  };
  using Items = std::vector<Item>;
  static constexpr uint32_t kAnyOf = 1;
  static constexpr uint32_t kOneOf = 2;
  static constexpr uint32_t kValues = 4;

  // JSON's types as a set of bits; numbers are integers and others.
  enum Type : uint32_t { null = 1, boolean = 2, object = 4, array = 8, string = 16, integer = 32, fraction = 64, all = 127 };

  // The rule of values for which all items hold.
  ExpressionId compile(const Items& items);
  // Follows $ref and allOf, and drops schemas that always hold. False if one of them never does.
  bool flatten(const Items& items, Items& flat);
  ExpressionId compile_flat(const Items& flat);
  ExpressionId compile_any_of(const Items& flat, size_t at);
  ExpressionId compile_one_of(const Items& flat, size_t at);
  [[nodiscard]] bool can_hold_together(const Items& items);
  void begin_judging(const SchemaCompiler& parent, const Items& items);
  void refuse_unsupported(const Items& flat) const;
  [[nodiscard]] uint32_t types_of(const Items& flat) const;
  [[nodiscard]] uint32_t types_named(const SchemaJson& names, const std::string& place) const;
  [[nodiscard]] uint32_t types_without(const SchemaJson& schema, const SchemaJson& negated) const;

  // enum and const.
  ExpressionId compile_values(const Items& flat);
  [[nodiscard]] std::vector<const SchemaJson*> values_of(const Items& flat) const;
  [[nodiscard]] bool fits_rest(const Items& flat, const std::vector<const SchemaJson*>& values, std::vector<bool>& fits);
  ExpressionId value_expression(const SchemaJson& value);

  ExpressionId compile_number(const Items& flat, bool integers_only);
  ExpressionId compile_string(const Items& flat);
  // Any number of characters of a string without quotes.
  ExpressionId any_characters() { return grammar_.repeat(grammar_.characters(CodePointSet::all()), 0, kUnlimited); }
  // The characters of the string without its quotes, each spelled in one way.
  [[nodiscard]] Dfa string_dfa(const Items& flat);
  void add_string_values(const Items& flat, std::vector<Dfa>& parts);
  ExpressionId compile_array(const Items& flat);
  ExpressionId compile_object(const Items& flat);

  struct Member {
    ExpressionId expression = 0;
    bool required = false;
  };
  [[nodiscard]] std::vector<std::string> property_names(const Items& flat) const;
  [[nodiscard]] std::vector<std::string> required_names(const Items& flat) const;
  // The schemas for the value of a property.
  [[nodiscard]] Items schemas_of_property(const Items& flat, const std::string& name);
  ExpressionId compile_other_members(const Items& flat, const std::vector<std::string>& names);
  // What propertyNames leaves of the names; none if there is no such keyword.
  [[nodiscard]] std::optional<Dfa> allowed_names(const Items& flat);
  [[nodiscard]] Items schemas_of_others(const Items& flat, const std::vector<const std::string*>& matched) const;
  [[nodiscard]] const SchemaJson* schema_of_others(const SchemaJson& schema) const;
  ExpressionId members_in_order(const std::vector<Member>& members, ExpressionId other);
  ExpressionId members_in_any_order(const std::vector<Member>& members, ExpressionId other, uint64_t smallest, uint64_t largest,
                                    const std::string& place);
  [[nodiscard]] const Dfa& pattern_dfa(const std::string& pattern, const std::string& place);

  [[nodiscard]] const SchemaJson* keyword(const Item& item, const char* name) const;
  [[nodiscard]] std::string place(const Item& item, const char* name) const;
  // The number of a keyword that counts. Errors: invalid_argument if it is none.
  [[nodiscard]] uint64_t count(const Item& item, const char* name, const SchemaJson& value) const;
  // The largest of the lower limits, and the smallest of the upper ones.
  [[nodiscard]] std::pair<uint64_t, uint64_t> limits(const Items& flat, const char* smallest, const char* largest) const;

  SchemaDocument& document_;
  JsonOptions options_;
  Grammar& grammar_;
  JsonRules rules_;
  std::map<Items, RuleId> known_;
  std::map<std::string, Dfa> patterns_;
  int depth_ = 0;
  int judge_depth_ = 0;  // of compilers that were made to judge a part of a schema; those take oneOf for anyOf
};

// Formats as patterns that match the whole text; each matches only what every reader takes for that format. Null for an unknown name.
[[nodiscard]] const char* json_format_pattern(std::string_view name);

}  // namespace wick
