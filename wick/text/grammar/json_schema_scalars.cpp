// Numbers and strings of a JSON Schema.
#include <algorithm>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/text/grammar/json_schema_compiler.h"
#include "wick/text/grammar/nfa.h"

namespace wick {
namespace {

constexpr uint64_t kMaxCharacters = 1'000'000'000;
constexpr uint64_t kMaxCharactersOfPattern = 2'000;
constexpr uint64_t kMaxBareCharacters = 1'000;
// An automaton of its own for a range of numbers costs as much as combining so many parts.
constexpr size_t kWorkOfBounds = 5;

// What a pattern asks of the text from its beginning on, before it reads it: ^(?=condition)(?!condition)rest.
struct Lookaheads {
  struct Condition {
    std::string pattern;
    bool holds = true;
  };
  std::vector<Condition> conditions;
  std::string rest;  // with its ^
};

// The first such letter outside of brackets, escapes and open parentheses; a parenthesis that closes the outermost one counts. npos: none.
size_t find_at_depth_0(std::string_view pattern, char wanted) {
  int depth = 0;
  bool in_class = false;
  for (size_t at = 0; at < pattern.size(); ++at) {
    const char letter = pattern[at];
    if (letter == '\\') {
      ++at;
    } else if (in_class || letter == '[') {
      in_class = letter != ']';
    } else {
      depth += letter == '(' ? 1 : letter == ')' ? -1 : 0;
      if (letter == wanted && depth == 0) return at;
    }
  }
  return std::string_view::npos;
}

// Lookaheads elsewhere are the pattern's own affair, which refuses them.
Lookaheads leading_lookaheads(const std::string& pattern) {
  Lookaheads result{.conditions = {}, .rest = pattern};
  std::string_view left = pattern;
  if (!left.starts_with("^(?") || find_at_depth_0(left, '|') != std::string_view::npos) return result;
  left.remove_prefix(1);
  while (left.starts_with("(?=") || left.starts_with("(?!")) {
    const size_t end = find_at_depth_0(left, ')');
    if (end == std::string_view::npos) return {.conditions = {}, .rest = pattern};
    result.conditions.push_back({"^(?:" + std::string(left.substr(3, end - 3)) + ")", left[2] == '='});
    left.remove_prefix(end + 1);
  }
  result.rest = "^" + std::string(left);
  return result;
}

}  // namespace

Dfa SchemaCompiler::both(const Dfa& left, const Dfa& right, const std::string& where) {
  size_t visited = 0;
  Dfa result = intersect(left, right, where, &visited);
  spend_states(visited, where);
  return result;
}

Dfa SchemaCompiler::only_first(const Dfa& left, const Dfa& right, const std::string& where) {
  size_t visited = 0;
  Dfa result = subtract(left, right, where, &visited);
  spend_states(visited, where);
  return result;
}

ExpressionId SchemaCompiler::compile_number(const Items& flat, uint32_t types) {
  NumberLimits limits;
  std::vector<Decimal> differing;
  std::string where;
  const auto decimal = [&](const Item& item, const char* name, const SchemaJson& value) {
    where = place(item, name);
    if (!value.is_number()) fail(ErrorCode::invalid_argument, "{}: must be a number", where);
    const std::optional<Decimal> result = Decimal::parse(json_text(value));
    if (!result) fail(ErrorCode::unsupported, "{}: the number has too many digits", where);
    return *result;
  };
  for (const Item& item : flat) {
    if (const SchemaJson* value = keyword(item, "minimum")) limits.smallest.push_back({decimal(item, "minimum", *value), false});
    if (const SchemaJson* value = keyword(item, "exclusiveMinimum"))
      limits.smallest.push_back({decimal(item, "exclusiveMinimum", *value), true});
    if (const SchemaJson* value = keyword(item, "maximum")) limits.largest.push_back({decimal(item, "maximum", *value), false});
    if (const SchemaJson* value = keyword(item, "exclusiveMaximum"))
      limits.largest.push_back({decimal(item, "exclusiveMaximum", *value), true});
    if (const SchemaJson* value = keyword(item, "multipleOf")) {
      const Decimal divisor = decimal(item, "multipleOf", *value);
      if (divisor.negative || divisor.is_zero()) fail(ErrorCode::invalid_argument, "{}: must be above 0", where);
      limits.multiple_of.push_back(divisor);
    }
    if (const SchemaJson* value = made_keyword(item, kNoMultipleOf)) limits.no_multiple_of.push_back(decimal(item, kNoMultipleOf, *value));
    if (const SchemaJson* values = made_keyword(item, kDiffers)) {
      for (const SchemaJson& value : *values) {
        if (value.is_number()) differing.push_back(decimal(item, kDiffers, value));
      }
    }
  }
  if (!limits.none() || !differing.empty()) spend(kWorkOfBounds + differing.size(), flat);
  const bool fractions_only = types == Type::fraction;
  if (limits.none() && differing.empty() && types == (Type::integer | Type::fraction)) return rules_.number();
  NumberForm form = NumberForm::number;
  if (types == Type::integer) form = options_.any_spelling ? NumberForm::integer_or_point_0 : NumberForm::integer;
  size_t visited = 0;
  auto dfa = std::make_shared<Dfa>(number_dfa(form, limits, where, &visited));
  spend_states(visited, where);
  if (fractions_only) *dfa = only_first(*dfa, number_dfa(NumberForm::integer_or_point_0, {}, where), where);
  for (const Decimal& value : differing) {
    NumberLimits equal;
    equal.smallest.push_back({value, false});
    equal.largest.push_back({value, false});
    *dfa = only_first(*dfa, number_dfa(NumberForm::number, equal, where), where);
  }
  return dfa->empty() ? grammar_.never() : grammar_.dfa(std::move(dfa));
}

ExpressionId SchemaCompiler::compile_string(const Items& flat) {
  const auto [shortest, longest] = limits(flat, "minLength", "maxLength");
  if (shortest > longest) return grammar_.never();
  if (options_.bare_strings) {
    auto bare = std::make_shared<Dfa>(string_dfa(flat));
    return bare->empty() ? grammar_.never() : grammar_.dfa(std::move(bare));
  }
  const SchemaJson* pattern = nullptr;
  bool needs_dfa = false;
  std::string where;
  for (const Item& item : flat) {
    const SchemaJson* value = keyword(item, "pattern");
    if (value != nullptr) {
      needs_dfa =
          needs_dfa || pattern != nullptr || (value->is_string() && !leading_lookaheads(value->get<std::string>()).conditions.empty());
      pattern = value;
      where = place(item, "pattern");
    }
    needs_dfa = needs_dfa || (options_.enforce_formats && keyword(item, "format") != nullptr) || made_keyword(item, kLacks) != nullptr ||
                made_keyword(item, kDiffers) != nullptr;
  }
  const ExpressionId quote = grammar_.literal("\"");
  if (!needs_dfa && pattern == nullptr) {
    if (shortest == 0 && longest == UINT64_MAX) return rules_.string();
    if (shortest > kMaxCharacters)
      fail(ErrorCode::unsupported, "{}: longer than {} characters", place(flat.front(), "minLength"), kMaxCharacters);
    const uint32_t most = longest > kMaxCharacters ? kUnlimited : static_cast<uint32_t>(longest);
    if (most == kUnlimited && longest != UINT64_MAX) {
      fail(ErrorCode::unsupported, "{}: above {}; leave it away", place(flat.front(), "maxLength"), kMaxCharacters);
    }
    return grammar_.sequence({quote, grammar_.repeat(rules_.character(), static_cast<uint32_t>(shortest), most), quote});
  }
  if (!needs_dfa && shortest == 0 && longest == UINT64_MAX && pattern->is_string()) {
    const ExpressionId inside = read_regex(pattern->get<std::string>(), RegexMatch::part, RegexSpelling::json_string, where, grammar_);
    return grammar_.sequence({quote, inside, quote});
  }
  auto dfa = std::make_shared<Dfa>(string_dfa(flat));
  if (dfa->empty()) return grammar_.never();
  return grammar_.sequence({quote, grammar_.dfa(std::move(dfa)), quote});
}

std::optional<Dfa> SchemaCompiler::listed_strings(const Items& flat) {
  const bool has_values = std::any_of(flat.begin(), flat.end(), [&](const Item& item) {
    return (item.done & kValues) == 0 && (keyword(item, "enum") != nullptr || keyword(item, "const") != nullptr);
  });
  if (!has_values) return std::nullopt;
  SchemaJson values = SchemaJson::array();
  for (const SchemaJson* value : values_of(flat)) values.push_back(*value);
  return strings_among(values, document_.pointer(*flat.front().schema));
}

// Those of the values that are strings.
Dfa SchemaCompiler::strings_among(const SchemaJson& values, const std::string& where) const {
  Grammar grammar;
  std::vector<ExpressionId> choices;
  for (const SchemaJson& value : values) {
    if (!value.is_string()) continue;
    const auto text = value.get<std::string>();
    choices.push_back(grammar.literal(options_.bare_strings ? text : json_escaped(text)));
  }
  return regular_dfa(grammar, grammar.choice(std::move(choices)), where);
}

// Without those that must not be: values, and what a pattern is found in.
Dfa SchemaCompiler::without_differing(const Items& flat, Dfa strings) {
  for (const Item& item : flat) {
    if (const SchemaJson* values = made_keyword(item, kDiffers)) {
      const std::string where = place(item, kDiffers);
      strings = only_first(strings, strings_among(*values, where), where);
    }
    if (const SchemaJson* pattern = made_keyword(item, kLacks)) {
      const std::string where = place(item, "pattern");
      if (!pattern->is_string()) fail(ErrorCode::invalid_argument, "{}: must be a string", where);
      strings = only_first(strings, pattern_dfa({.text = pattern->get<std::string>(), .spelling = spelling()}, where), where);
    }
  }
  return strings;
}

Dfa SchemaCompiler::string_dfa(const Items& flat) {
  std::vector<const Dfa*> parts;
  std::string where = flat.empty() ? "#" : document_.pointer(*flat.front().schema);
  for (const Item& item : flat) {
    if (const SchemaJson* pattern = keyword(item, "pattern")) {
      where = place(item, "pattern");
      if (!pattern->is_string()) fail(ErrorCode::invalid_argument, "{}: must be a string", where);
      parts.push_back(&pattern_dfa({.text = pattern->get<std::string>(), .spelling = spelling()}, where));
    }
    const SchemaJson* format = keyword(item, "format");
    if (format == nullptr || !options_.enforce_formats) continue;
    parts.push_back(&format_dfa(*format, place(item, "format")));
  }
  const std::optional<Dfa> listed = listed_strings(flat);
  if (listed) parts.push_back(&*listed);
  const auto [shortest, longest] = limits(flat, "minLength", "maxLength");
  if (shortest > 0 || longest != UINT64_MAX || parts.empty()) parts.push_back(&length_dfa(shortest, longest, where));
  Dfa result = parts.size() == 1 ? *parts.front() : both(*parts[0], *parts[1], where);
  for (size_t index = 2; index < parts.size(); ++index) result = both(result, *parts[index], where);
  return without_differing(flat, std::move(result));
}

const Dfa& SchemaCompiler::length_dfa(uint64_t shortest, uint64_t longest, const std::string& where) {
  const uint64_t most_counted = options_.bare_strings ? kMaxBareCharacters : kMaxCharactersOfPattern;
  if (shortest > most_counted || (longest != UINT64_MAX && longest > most_counted)) {
    fail(ErrorCode::unsupported, "{}: {}, minLength and maxLength are supported up to {}", where,
         options_.bare_strings ? "of a text that is written without quotes" : "beside a pattern or format", most_counted);
  }
  const auto known = shared_->lengths.find({spelling(), shortest, longest});
  if (known != shared_->lengths.end()) return known->second;
  Grammar grammar;
  const ExpressionId any = options_.bare_strings ? grammar.characters(CodePointSet::all()) : json_characters(CodePointSet::all(), grammar);
  const uint32_t most = longest == UINT64_MAX ? kUnlimited : static_cast<uint32_t>(longest);
  Dfa dfa = regular_dfa(grammar, grammar.repeat(any, static_cast<uint32_t>(shortest), most), where);
  spend_states(dfa.nodes.size(), where);
  return shared_->lengths.emplace(std::tuple(spelling(), shortest, longest), std::move(dfa)).first->second;
}

const Dfa& SchemaCompiler::format_dfa(const SchemaJson& format, const std::string& where) {
  const char* const pattern = format.is_string() ? json_format_pattern(format.get<std::string>()) : nullptr;
  if (pattern == nullptr) fail(ErrorCode::unsupported, "{}: the format {} is not supported", where, json_text(format));
  return pattern_dfa({.text = pattern, .match = RegexMatch::whole, .spelling = spelling()}, where);
}

const Dfa& SchemaCompiler::pattern_dfa(const Pattern& pattern, const std::string& where) {
  const auto known = shared_->patterns.find(pattern);
  if (known != shared_->patterns.end()) return known->second;
  return shared_->patterns.emplace(pattern, build_pattern_dfa(pattern, where)).first->second;
}

Dfa SchemaCompiler::build_pattern_dfa(const Pattern& pattern, const std::string& where) {
  const auto dfa_of = [&](const std::string& text) {
    Grammar grammar;
    Dfa dfa = regular_dfa(grammar, read_regex(text, pattern.match, pattern.spelling, where, grammar), where);
    spend_states(dfa.nodes.size(), where);
    return dfa;
  };
  if (pattern.match == RegexMatch::whole) return dfa_of(pattern.text);
  const Lookaheads parts = leading_lookaheads(pattern.text);
  Dfa result = dfa_of(parts.rest);
  for (const Lookaheads::Condition& condition : parts.conditions) {
    const Dfa found = dfa_of(condition.pattern);
    result = condition.holds ? both(result, found, where) : only_first(result, found, where);
  }
  return result;
}

}  // namespace wick
