// A SchemaCompiler turns a JSON Schema into rules of a Grammar; what it cannot enforce it refuses by name.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "wick/text/grammar/automaton.h"
#include "wick/text/grammar/dfa.h"
#include "wick/text/grammar/format_grammar.h"
#include "wick/text/grammar/json_number.h"
#include "wick/text/grammar/json_schema_document.h"
#include "wick/text/grammar/json_schema_rewriter.h"
#include "wick/text/grammar/json_text.h"

namespace wick {

class SchemaCompiler {
 public:
  SchemaCompiler(SchemaDocument& document, const JsonOptions& options, Grammar& grammar);

  // Compiles the whole document.
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
  // Follows references and allOf, says not, if and dependencies in other words, and drops schemas that always hold. False if one of them
  // never does.
  bool flatten(const Items& items, Items& flat);
  void open_parts(const Item& item, Items& open);
  // Counts what combining costs, for this compiler and those that it asks. Errors: unsupported beyond what one schema may cost.
  void spend(size_t work, const Items& flat);
  // The same of states of automata that were built or visited.
  void spend_states(size_t states, const std::string& place);
  [[nodiscard]] bool can_spend(size_t work);
  ExpressionId compile_flat(const Items& flat);
  ExpressionId compile_any_of(const Items& flat, size_t at);
  ExpressionId compile_one_of(const Items& flat, size_t at);
  [[nodiscard]] bool can_hold_together(const Items& items);
  [[nodiscard]] bool are_told_apart(const Items& parts, size_t at);
  [[nodiscard]] bool list_different(const std::vector<Items>& flats) const;
  // The schemas whose annotations unevaluatedProperties and unevaluatedItems of `item` see: the parts of it that hold.
  [[nodiscard]] std::vector<const SchemaJson*> evaluating(const Item& item, const Items& flat);
  void add_evaluating(const SchemaJson& schema, const Items& flat, std::set<const SchemaJson*>& seen, std::vector<const SchemaJson*>& into);
  [[nodiscard]] bool holds(const SchemaJson& schema, const Items& flat);
  [[nodiscard]] bool speaks_of_unevaluated(const Items& flat) const;
  void begin_judging(const SchemaCompiler& parent, const Items& items);
  void refuse_unsupported(const Items& flat) const;
  [[nodiscard]] uint32_t types_of(const Items& flat) const;
  [[nodiscard]] uint32_t types_named(const SchemaJson& names, const std::string& place, bool made) const;

  // enum and const.
  ExpressionId compile_values(const Items& flat);
  [[nodiscard]] static uint32_t type_of(const SchemaJson& value);
  [[nodiscard]] std::vector<const SchemaJson*> values_of(const Items& flat) const;
  [[nodiscard]] bool fits_rest(const Items& flat, const std::vector<const SchemaJson*>& values, std::vector<bool>& fits);
  ExpressionId value_expression(const SchemaJson& value);

  // `types`: integer, fraction or both.
  ExpressionId compile_number(const Items& flat, uint32_t types);
  ExpressionId compile_string(const Items& flat);
  // Any number of characters of a string without quotes.
  ExpressionId any_characters() { return grammar_.repeat(grammar_.characters(CodePointSet::all()), 0, kUnlimited); }
  // The characters of the string without its quotes, each spelled in one way.
  [[nodiscard]] Dfa string_dfa(const Items& flat);
  // The strings among the values that are listed, if any are.
  [[nodiscard]] std::optional<Dfa> listed_strings(const Items& flat);
  // Strings of so many characters; the largest of 64 bits: no limit.
  [[nodiscard]] const Dfa& length_dfa(uint64_t shortest, uint64_t longest, const std::string& place);
  [[nodiscard]] Dfa strings_among(const SchemaJson& values, const std::string& place) const;
  [[nodiscard]] Dfa without_differing(const Items& flat, Dfa strings);

  ExpressionId compile_array(const Items& flat);
  // A condition on how many elements fit a schema.
  struct Counted {
    const Item* item = nullptr;
    const SchemaJson* schema = nullptr;
    uint64_t least = 0;
    uint64_t most = 0;
  };
  [[nodiscard]] std::vector<Counted> counted_of(const Items& flat);
  // The schemas of the element at an index; bit i of `fitting`: it is counted by counted[i].
  [[nodiscard]] Items schemas_of_element(const Items& flat, size_t index, const std::vector<Counted>& counted, uint32_t fitting);
  [[nodiscard]] bool is_evaluated_element(const Item& item, const Items& flat, size_t index, const std::vector<Counted>& counted,
                                          uint32_t fitting);
  ExpressionId compile_counted_array(const Items& flat, const std::vector<Counted>& counted, size_t prefix, uint64_t smallest,
                                     uint64_t largest);
  ExpressionId compile_set(const Items& flat, size_t prefix, uint64_t smallest, uint64_t largest);
  // An expression for each of the values that fit, where they are few and can be listed.
  [[nodiscard]] std::optional<std::vector<ExpressionId>> listed_values(const Items& items);
  ExpressionId compile_object(const Items& flat);

  struct Member {
    ExpressionId expression = 0;
    bool required = false;
  };
  [[nodiscard]] std::vector<std::string> property_names(const Items& flat) const;
  [[nodiscard]] std::vector<std::string> required_names(const Items& flat) const;
  // The schemas for the value of a property.
  [[nodiscard]] Items schemas_of_property(const Items& flat, const std::string& name);
  ExpressionId compile_other_members(const Items& flat, const std::vector<std::string>& names, const std::vector<std::string>& patterns);
  // Those of patternProperties, each once. Errors: unsupported where there are too many.
  [[nodiscard]] std::vector<std::string> name_patterns(const Items& flat) const;
  // Names that propertyNames allows; none if there is no such keyword.
  [[nodiscard]] std::optional<Dfa> allowed_names(const Items& flat);
  [[nodiscard]] Items schemas_of_others(const Items& flat, const std::vector<const std::string*>& matched);
  [[nodiscard]] bool matches_a_pattern(const SchemaJson& schema, const std::string& name);
  [[nodiscard]] bool is_evaluated_property(const Item& item, const Items& flat, const std::string& name);
  [[nodiscard]] bool is_evaluated_other(const Item& item, const Items& flat, const std::vector<const std::string*>& matched);
  [[nodiscard]] Dfa names_dfa(const Items& items, const std::string& place);
  [[nodiscard]] const SchemaJson* schema_of_others(const SchemaJson& schema) const;
  ExpressionId members_in_order(const std::vector<Member>& members, ExpressionId other);
  ExpressionId many_members(std::vector<Member> members, ExpressionId other);
  ExpressionId members_in_any_order(const std::vector<Member>& members, ExpressionId other, uint64_t smallest, uint64_t largest,
                                    const std::string& place);
  // The strings in which a pattern is found, or which it matches as a whole.
  struct Pattern {
    std::string text;
    RegexMatch match = RegexMatch::part;
    RegexSpelling spelling = RegexSpelling::json_string;
    [[nodiscard]] auto operator<=>(const Pattern&) const = default;
  };
  [[nodiscard]] const Dfa& pattern_dfa(const Pattern& pattern, const std::string& place);
  [[nodiscard]] Dfa build_pattern_dfa(const Pattern& pattern, const std::string& place);
  // The strings that are of a format, spelled as options_ say.
  [[nodiscard]] const Dfa& format_dfa(const SchemaJson& format, const std::string& place);
  [[nodiscard]] RegexSpelling spelling() const { return options_.bare_strings ? RegexSpelling::utf8 : RegexSpelling::json_string; }
  // Intersection and difference.
  [[nodiscard]] Dfa both(const Dfa& left, const Dfa& right, const std::string& place);
  [[nodiscard]] Dfa only_first(const Dfa& left, const Dfa& right, const std::string& place);

  [[nodiscard]] const SchemaJson* keyword(const Item& item, const char* name) const;
  // One of those that only the rewriter writes.
  [[nodiscard]] const SchemaJson* made_keyword(const Item& item, const char* name) const;
  [[nodiscard]] std::string place(const Item& item, const char* name) const;
  // The number of a keyword that counts. Errors: invalid_argument if it is none.
  [[nodiscard]] uint64_t count(const Item& item, const char* name, const SchemaJson& value) const;
  // The largest of the lower limits, and the smallest of the upper ones.
  [[nodiscard]] std::pair<uint64_t, uint64_t> limits(const Items& flat, const char* smallest, const char* largest) const;

  SchemaDocument& document_;
  SchemaRewriter rewriter_;
  JsonOptions options_;
  Grammar& grammar_;
  JsonRules rules_;
  std::map<Items, RuleId> known_;
  Items judged_;                                // what values were last held against: many have the same beside them
  std::unique_ptr<const Automaton> judgement_;  // of it; null where no value fits
  int depth_ = 0;
  // State shared with nested compilers.
  struct Shared {
    size_t work = 0;
    std::map<Pattern, Dfa> patterns = {};
    std::map<std::tuple<RegexSpelling, uint64_t, uint64_t>, Dfa> lengths = {};
  };
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  int judge_depth_ = 0;  // of compilers that were made to judge a part of a schema
  bool takes_one_of_for_any_of_ = false;
};

// Formats as patterns that match the whole text; each matches only what every reader takes for that format. Null for an unknown name.
[[nodiscard]] const char* json_format_pattern(std::string_view name);

}  // namespace wick
