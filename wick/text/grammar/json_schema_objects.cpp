// Objects of a JSON Schema.
#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include "wick/base/fail.h"
#include "wick/text/grammar/json_schema_compiler.h"
#include "wick/text/grammar/nfa.h"

namespace wick {
namespace {

// Patterns of names split what is left of them into 2^n classes.
constexpr size_t kMaxPatterns = 6;
// Asking a part for so many names costs what combining it with another one does.
constexpr size_t kNamesOfAPart = 50;

bool speaks_of_others(const SchemaJson& schema) {
  return schema.contains("additionalProperties") || schema.contains("unevaluatedProperties");
}

}  // namespace

std::vector<std::string> SchemaCompiler::required_names(const Items& flat) const {
  std::vector<std::string> names;
  for (const Item& item : flat) {
    const SchemaJson* list = keyword(item, "required");
    if (list == nullptr) continue;
    if (!list->is_array()) fail(ErrorCode::invalid_argument, "{}: must be a list of names", place(item, "required"));
    for (const SchemaJson& name : *list) {
      if (!name.is_string()) fail(ErrorCode::invalid_argument, "{}: must be a list of names", place(item, "required"));
      names.push_back(name.get<std::string>());
    }
  }
  return names;
}

std::vector<std::string> SchemaCompiler::property_names(const Items& flat) const {
  std::vector<std::string> names;
  std::unordered_set<std::string> known;
  const auto add = [&](const std::string& name) {
    if (known.insert(name).second) names.push_back(name);
  };
  for (const Item& item : flat) {
    if (const SchemaJson* properties = keyword(item, "properties")) {
      for (const auto& [name, schema] : properties->items()) add(name);
    }
  }
  for (const std::string& name : required_names(flat)) add(name);
  return names;
}

const SchemaJson* SchemaCompiler::schema_of_others(const SchemaJson& schema) const {
  static const SchemaJson kNothing = false;
  for (const char* name : {"additionalProperties", "unevaluatedProperties"}) {
    if (const auto found = schema.find(name); found != schema.end()) return &*found;
  }
  // A schema that lists its properties means these, as OpenAI's strict mode has it.
  const bool lists = schema.contains("properties") && !schema.contains("patternProperties") && !document_.is_made(schema);
  return lists && !options_.any_spelling ? &kNothing : nullptr;
}

SchemaCompiler::Items SchemaCompiler::schemas_of_property(const Items& flat, const std::string& name) {
  Items items;
  for (const Item& item : flat) {
    bool named = false;
    const SchemaJson* const properties = keyword(item, "properties");
    if (const SchemaJson* const own = properties == nullptr ? nullptr : document_.member(*properties, name)) {
      items.push_back({own});
      named = true;
    }
    if (const SchemaJson* patterns = keyword(item, "patternProperties")) {
      for (const auto& [pattern, schema] : patterns->items()) {
        if (!pattern_dfa({.text = pattern}, place(item, "patternProperties")).accepts(json_escaped(name))) continue;
        items.push_back({&schema});
        named = true;
      }
    }
    // Another part of a combination may name what this one, by not speaking of others, does not forbid.
    if (named || !speaks_of_others(*item.schema) || is_evaluated_property(item, flat, name)) continue;
    if (const SchemaJson* others = schema_of_others(*item.schema)) items.push_back({others});
  }
  return items;
}

bool SchemaCompiler::matches_a_pattern(const SchemaJson& schema, const std::string& name) {
  const SchemaJson* const patterns = keyword({&schema}, "patternProperties");
  if (patterns == nullptr) return false;
  return std::any_of(patterns->items().begin(), patterns->items().end(), [&](const auto& entry) {
    return pattern_dfa({.text = entry.key()}, place({&schema}, "patternProperties")).accepts(json_escaped(name));
  });
}

// Whether another part that holds has evaluated the property, so that unevaluatedProperties says nothing of it.
bool SchemaCompiler::is_evaluated_property(const Item& item, const Items& flat, const std::string& name) {
  if (item.schema->contains("additionalProperties") || keyword(item, "unevaluatedProperties") == nullptr) return false;
  const std::vector<const SchemaJson*> parts = evaluating(item, flat);
  return std::any_of(parts.begin(), parts.end(), [&](const SchemaJson* part) {
    const SchemaJson* const properties = keyword({part}, "properties");
    return speaks_of_others(*part) || (properties != nullptr && document_.member(*properties, name) != nullptr) ||
           matches_a_pattern(*part, name);
  });
}

// The same of the properties that nobody names, and that match these patterns alone.
bool SchemaCompiler::is_evaluated_other(const Item& item, const Items& flat, const std::vector<const std::string*>& matched) {
  if (item.schema->contains("additionalProperties") || keyword(item, "unevaluatedProperties") == nullptr) return false;
  const std::vector<const SchemaJson*> parts = evaluating(item, flat);
  return std::any_of(parts.begin(), parts.end(), [&](const SchemaJson* part) {
    const SchemaJson* const patterns = keyword({part}, "patternProperties");
    return speaks_of_others(*part) || (patterns != nullptr && std::any_of(matched.begin(), matched.end(), [&](const std::string* pattern) {
                                         return patterns->contains(*pattern);
                                       }));
  });
}

SchemaCompiler::Items SchemaCompiler::schemas_of_others(const Items& flat, const std::vector<const std::string*>& matched) {
  Items items;
  for (const Item& item : flat) {
    bool named = false;
    if (const SchemaJson* patterns = keyword(item, "patternProperties")) {
      for (const std::string* pattern : matched) {
        if (!patterns->contains(*pattern)) continue;
        items.push_back({&(*patterns)[*pattern]});
        named = true;
      }
    }
    const bool evaluated = named || is_evaluated_other(item, flat, matched);
    const SchemaJson* others = evaluated ? nullptr : schema_of_others(*item.schema);
    if (others != nullptr) items.push_back({others});
  }
  return items;
}

std::optional<Dfa> SchemaCompiler::allowed_names(const Items& flat) {
  std::optional<Dfa> result;
  for (const Item& item : flat) {
    const SchemaJson* schema = keyword(item, "propertyNames");
    if (schema == nullptr) continue;
    Dfa names = names_dfa({{schema}}, place(item, "propertyNames"));
    result = result ? both(*result, names, place(item, "propertyNames")) : std::move(names);
  }
  return result;
}

Dfa SchemaCompiler::names_dfa(const Items& items, const std::string& where) {
  Items flat;
  if (!flatten(items, flat)) return {};
  for (size_t at = 0; at < flat.size(); ++at) {
    if (keyword(flat[at], "oneOf") != nullptr) fail(ErrorCode::unsupported, "{}: oneOf is not supported for names", where);
    const SchemaJson* const branches = (flat[at].done & kAnyOf) == 0 ? keyword(flat[at], "anyOf") : nullptr;
    if (branches == nullptr) continue;
    Grammar grammar;
    std::vector<ExpressionId> choices;
    for (const SchemaJson& branch : *branches) {
      Items with = flat;
      with[at].done |= kAnyOf;
      with.push_back({&branch});
      choices.push_back(grammar.dfa(std::make_shared<Dfa>(names_dfa(with, where))));
    }
    return regular_dfa(grammar, grammar.choice(std::move(choices)), where);
  }
  refuse_unsupported(flat);
  return (types_of(flat) & Type::string) != 0 ? string_dfa(flat) : Dfa{};
}

std::vector<std::string> SchemaCompiler::name_patterns(const Items& flat) const {
  std::vector<std::string> patterns;
  for (const Item& item : flat) {
    if (const SchemaJson* list = keyword(item, "patternProperties")) {
      for (const auto& [pattern, schema] : list->items()) patterns.push_back(pattern);
    }
  }
  std::sort(patterns.begin(), patterns.end());
  patterns.erase(std::unique(patterns.begin(), patterns.end()), patterns.end());
  if (patterns.size() > kMaxPatterns) {
    fail(ErrorCode::unsupported, "{}/patternProperties: more than {} patterns", document_.pointer(*flat.front().schema), kMaxPatterns);
  }
  return patterns;
}

// Members whose names are not listed: one class for each set of patterns that their names match.
ExpressionId SchemaCompiler::compile_other_members(const Items& flat, const std::vector<std::string>& names,
                                                   const std::vector<std::string>& patterns) {
  const std::string where = document_.pointer(*flat.front().schema);
  Grammar grammar;
  std::vector<ExpressionId> listed;
  for (const std::string& name : names) listed.push_back(grammar.literal(json_escaped(name)));
  std::optional<Dfa> allowed = allowed_names(flat);
  const ExpressionId any = grammar.repeat(json_characters(CodePointSet::all(), grammar), 0, kUnlimited);
  Dfa left = allowed ? std::move(*allowed) : regular_dfa(grammar, any, where);
  left = only_first(left, regular_dfa(grammar, grammar.choice(std::move(listed)), where), where);

  std::vector<ExpressionId> choices;
  const ExpressionId quote = grammar_.literal("\"");
  for (size_t set = 0; set < size_t{1} << patterns.size(); ++set) {
    std::vector<const std::string*> matched;
    for (size_t index = 0; index < patterns.size(); ++index) {
      if ((set >> index & 1) != 0) matched.push_back(&patterns[index]);
    }
    const Items items = schemas_of_others(flat, matched);
    const ExpressionId value = items.empty() ? rules_.value() : compile(items);
    if (grammar_.is_never(value)) continue;
    auto keys = std::make_shared<Dfa>(left);
    for (size_t index = 0; index < patterns.size() && !keys->empty(); ++index) {
      const Dfa& pattern = pattern_dfa({.text = patterns[index]}, where);
      *keys = (set >> index & 1) != 0 ? both(*keys, pattern, where) : only_first(*keys, pattern, where);
    }
    if (keys->empty()) continue;
    choices.push_back(grammar_.sequence({quote, grammar_.dfa(std::move(keys)), quote, rules_.colon(), value}));
  }
  return grammar_.choice(std::move(choices));
}

ExpressionId SchemaCompiler::compile_object(const Items& flat) {
  bool speaks = false;
  for (const Item& item : flat) {
    for (const char* name : {"properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "required",
                             "propertyNames", "minProperties", "maxProperties"}) {
      speaks = speaks || keyword(item, name) != nullptr;
    }
  }
  if (!speaks) return rules_.object();
  const std::vector<std::string> names = property_names(flat);
  const std::vector<std::string> patterns = name_patterns(flat);
  spend(names.size() * flat.size() / kNamesOfAPart, flat);
  const std::vector<std::string> listed = required_names(flat);
  const std::unordered_set<std::string> required(listed.begin(), listed.end());
  const std::optional<Dfa> allowed = allowed_names(flat);
  std::vector<Member> members;
  for (const std::string& name : names) {
    const bool is_required = required.contains(name);
    const bool is_allowed = !allowed || allowed->accepts(json_escaped(name));
    const Items items = schemas_of_property(flat, name);
    const ExpressionId value = !is_allowed ? grammar_.never() : items.empty() ? rules_.value() : compile(items);
    if (grammar_.is_never(value)) {
      if (is_required) return grammar_.never();
      continue;
    }
    members.push_back({grammar_.sequence({grammar_.literal("\"" + json_escaped(name) + "\""), rules_.colon(), value}), is_required});
  }
  const ExpressionId other = compile_other_members(flat, names, patterns);
  const auto [smallest, largest] = limits(flat, "minProperties", "maxProperties");
  const auto needed =
      static_cast<uint64_t>(std::count_if(members.begin(), members.end(), [](const Member& member) { return member.required; }));
  if (needed > largest) return grammar_.never();
  const uint64_t possible = grammar_.is_never(other) ? members.size() : UINT64_MAX;
  if (smallest > possible) return grammar_.never();
  const bool counts = smallest > needed || largest < possible;
  ExpressionId inside = 0;
  const bool any_order = options_.any_order || options_.any_spelling;
  if (counts || (any_order && !members.empty() && members.size() <= kMaxGroupMembers)) {
    inside = members_in_any_order(members, other, smallest, largest, document_.pointer(*flat.front().schema));
  } else if (options_.any_order && members.size() > kMaxGroupMembers) {
    inside = many_members(std::move(members), other);
  } else {
    inside = members_in_order(members, other);
  }
  return rules_.enclosed('{', inside, '}');
}

ExpressionId SchemaCompiler::members_in_any_order(const std::vector<Member>& members, ExpressionId other, uint64_t smallest,
                                                  uint64_t largest, const std::string& where) {
  if (members.size() > kMaxGroupMembers) {
    fail(ErrorCode::unsupported, "{}: more than {} properties together with minProperties or maxProperties", where, kMaxGroupMembers);
  }
  // Names that are not listed may be written twice, so that all of them together count as one.
  if (smallest > members.size() + (grammar_.is_never(other) ? 0 : 1)) {
    fail(ErrorCode::unsupported, "{}/minProperties: {} properties that all differ cannot be enforced; name some of them", where, smallest);
  }
  if (largest == 0 || (members.empty() && grammar_.is_never(other))) return smallest == 0 ? grammar_.empty() : grammar_.never();
  MemberGroup group;
  for (const Member& member : members) {
    if (member.required) group.required |= uint64_t{1} << group.members.size();
    group.members.push_back(member.expression);
  }
  group.other = other;
  group.separator = rules_.comma();
  group.smallest = static_cast<uint32_t>(smallest);
  group.largest = largest >= kUnlimited ? kUnlimited : static_cast<uint32_t>(largest);
  return grammar_.group(std::move(group));
}

// More members than a group counts: those that must be there are counted first; the others may come again.
ExpressionId SchemaCompiler::many_members(std::vector<Member> members, ExpressionId other) {
  std::stable_partition(members.begin(), members.end(), [](const Member& member) { return member.required; });
  MemberGroup group;
  std::vector<ExpressionId> others;
  if (!grammar_.is_never(other)) others.push_back(other);
  for (const Member& member : members) {
    if (group.members.size() == kMaxGroupMembers) {
      others.push_back(member.expression);
      continue;
    }
    if (member.required) group.required |= uint64_t{1} << group.members.size();
    group.members.push_back(member.expression);
  }
  group.other = grammar_.choice(std::move(others));
  group.separator = rules_.comma();
  return grammar_.group(std::move(group));
}

ExpressionId SchemaCompiler::members_in_order(const std::vector<Member>& members, ExpressionId other) {
  std::vector<ExpressionId> expressions;
  std::vector<bool> required;
  for (const Member& member : members) {
    expressions.push_back(member.expression);
    required.push_back(member.required);
  }
  return grammar_.chain(std::move(expressions), required, other, rules_.comma());
}

}  // namespace wick
