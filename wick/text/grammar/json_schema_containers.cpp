// Arrays and objects of a JSON Schema.
#include <algorithm>
#include <map>
#include <utility>

#include "wick/base/fail.h"
#include "wick/text/grammar/json_schema_compiler.h"
#include "wick/text/grammar/nfa.h"

namespace wick {
namespace {

constexpr uint64_t kMostElements = 1'000'000;
// Patterns of names split what is left of them into 2^n classes.
constexpr size_t kMostPatterns = 6;
// Where no property is required, so many are written out for each that may be the first.
constexpr size_t kMostWrittenOut = 4;

bool is_true(const SchemaJson* value) { return value != nullptr && value->is_boolean() && value->get<bool>(); }

}  // namespace

ExpressionId SchemaCompiler::compile_array(const Items& flat) {
  auto [smallest, largest] = limits(flat, "minItems", "maxItems");
  size_t prefix = 0;
  for (const Item& item : flat) {
    if (const SchemaJson* list = keyword(item, "prefixItems")) prefix = std::max(prefix, list->size());
    if (is_true(keyword(item, "uniqueItems")) && largest > 1) {
      fail(ErrorCode::unsupported, "{}: elements that all differ cannot be enforced", place(item, "uniqueItems"));
    }
    if (keyword(item, "contains") != nullptr) fail(ErrorCode::unsupported, "{}: this keyword is not supported", place(item, "contains"));
    const SchemaJson* unevaluated = keyword(item, "unevaluatedItems");
    const bool refers = keyword(item, "$ref") != nullptr || keyword(item, "allOf") != nullptr || keyword(item, "anyOf") != nullptr ||
                        keyword(item, "oneOf") != nullptr || keyword(item, "if") != nullptr;
    if (unevaluated != nullptr && !is_true(unevaluated) && refers) {
      fail(ErrorCode::unsupported, "{}: beside references and combinations this keyword is not supported", place(item, "unevaluatedItems"));
    }
  }
  if (smallest > kMostElements) fail(ErrorCode::unsupported, "{}: above {}", place(flat.front(), "minItems"), kMostElements);
  const auto element = [&](size_t index) {
    Items items;
    for (const Item& item : flat) {
      const SchemaJson* list = keyword(item, "prefixItems");
      if (list != nullptr && index < list->size()) {
        items.push_back({&(*list)[index]});
      } else if (const SchemaJson* rest = keyword(item, "items")) {
        items.push_back({rest});
      } else if (const SchemaJson* unevaluated = keyword(item, "unevaluatedItems")) {
        items.push_back({unevaluated});
      }
    }
    return items.empty() ? rules_.value() : compile(items);
  };
  std::vector<ExpressionId> first;
  while (first.size() < prefix && first.size() < largest) {
    const ExpressionId expression = element(first.size());
    if (grammar_.is_never(expression)) {
      largest = first.size();
      break;
    }
    first.push_back(expression);
  }
  // What stands behind the listed elements, then these from the last to the first.
  const ExpressionId rest = largest > first.size() ? element(prefix) : grammar_.never();
  if (grammar_.is_never(rest)) largest = std::min<uint64_t>(largest, first.size());
  if (smallest > largest) return grammar_.never();
  const auto count = static_cast<uint32_t>(first.size());
  const uint32_t most = largest > kMostElements ? kUnlimited : static_cast<uint32_t>(largest);
  const auto least = static_cast<uint32_t>(smallest);
  const auto left = [](uint32_t total, uint32_t used) { return total == kUnlimited ? kUnlimited : total - std::min(total, used); };
  const uint32_t written = std::max(count, 1U);
  ExpressionId tail = grammar_.repeat(grammar_.sequence({rules_.comma(), rest}), left(least, written), left(most, written));
  if (count == 0) {
    const ExpressionId elements = most == 0 ? grammar_.empty() : grammar_.sequence({rest, tail});
    return rules_.enclosed('[', least == 0 ? grammar_.optional(elements) : elements, ']');
  }
  for (uint32_t index = count; index-- > 0;) {
    tail = grammar_.sequence({index == 0 ? grammar_.empty() : rules_.comma(), first[index], tail});
    if (index >= least) tail = grammar_.optional(tail);
  }
  return rules_.enclosed('[', tail, ']');
}

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
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
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
  const bool lists = schema.contains("properties") && !schema.contains("patternProperties");
  return lists && !options_.any_spelling ? &kNothing : nullptr;
}

SchemaCompiler::Items SchemaCompiler::schemas_of_property(const Items& flat, const std::string& name) {
  Items items;
  for (const Item& item : flat) {
    bool named = false;
    if (const SchemaJson* properties = keyword(item, "properties"); properties != nullptr && properties->contains(name)) {
      items.push_back({&(*properties)[name]});
      named = true;
    }
    if (const SchemaJson* patterns = keyword(item, "patternProperties")) {
      for (const auto& [pattern, schema] : patterns->items()) {
        if (!pattern_dfa(pattern, place(item, "patternProperties")).accepts(json_escaped(name))) continue;
        items.push_back({&schema});
        named = true;
      }
    }
    if (named) continue;
    // Another part of a combination may name what this one, by not speaking of others, does not forbid.
    const bool speaks = item.schema->contains("additionalProperties") || item.schema->contains("unevaluatedProperties");
    if (const SchemaJson* others = speaks ? schema_of_others(*item.schema) : nullptr) items.push_back({others});
  }
  return items;
}

SchemaCompiler::Items SchemaCompiler::schemas_of_others(const Items& flat, const std::vector<const std::string*>& matched) const {
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
    const SchemaJson* others = named ? nullptr : schema_of_others(*item.schema);
    if (others != nullptr) items.push_back({others});
  }
  return items;
}

std::optional<Dfa> SchemaCompiler::allowed_names(const Items& flat) {
  std::optional<Dfa> result;
  for (const Item& item : flat) {
    const SchemaJson* schema = keyword(item, "propertyNames");
    if (schema == nullptr) continue;
    Items of_names;
    Dfa names;
    if (flatten({{schema}}, of_names)) {
      for (const Item& part : of_names) {
        if (keyword(part, "anyOf") != nullptr || keyword(part, "oneOf") != nullptr || keyword(part, "not") != nullptr) {
          fail(ErrorCode::unsupported, "{}: combinations of schemas are not supported for names", place(item, "propertyNames"));
        }
      }
      refuse_unsupported(of_names);
      if ((types_of(of_names) & Type::string) != 0) names = string_dfa(of_names);
    }
    result = result ? intersect(*result, names, place(item, "propertyNames")) : std::move(names);
  }
  return result;
}

// Members whose names are not listed: one class for each set of patterns that their names match.
ExpressionId SchemaCompiler::compile_other_members(const Items& flat, const std::vector<std::string>& names) {
  const std::string where = document_.pointer(*flat.front().schema);
  std::vector<const std::string*> patterns;
  std::vector<std::string> storage;
  for (const Item& item : flat) {
    if (const SchemaJson* list = keyword(item, "patternProperties")) {
      for (const auto& [pattern, schema] : list->items()) storage.push_back(pattern);
    }
  }
  std::sort(storage.begin(), storage.end());
  storage.erase(std::unique(storage.begin(), storage.end()), storage.end());
  for (const std::string& pattern : storage) patterns.push_back(&pattern);
  if (patterns.size() > kMostPatterns) fail(ErrorCode::unsupported, "{}/patternProperties: more than {} patterns", where, kMostPatterns);

  Grammar grammar;
  std::vector<ExpressionId> listed;
  for (const std::string& name : names) listed.push_back(grammar.literal(json_escaped(name)));
  std::optional<Dfa> allowed = allowed_names(flat);
  const ExpressionId any = grammar.repeat(json_characters(CodePointSet::all(), grammar), 0, kUnlimited);
  Dfa left = allowed ? std::move(*allowed) : regular_dfa(grammar, any, where);
  left = subtract(left, regular_dfa(grammar, grammar.choice(std::move(listed)), where), where);

  std::vector<ExpressionId> choices;
  const ExpressionId quote = grammar_.literal("\"");
  for (size_t set = 0; set < size_t{1} << patterns.size(); ++set) {
    std::vector<const std::string*> matched;
    for (size_t index = 0; index < patterns.size(); ++index) {
      if ((set >> index & 1) != 0) matched.push_back(patterns[index]);
    }
    const Items items = schemas_of_others(flat, matched);
    const ExpressionId value = items.empty() ? rules_.value() : compile(items);
    if (grammar_.is_never(value)) continue;
    auto keys = std::make_shared<Dfa>(left);
    for (size_t index = 0; index < patterns.size() && !keys->empty(); ++index) {
      const Dfa& pattern = pattern_dfa(*patterns[index], where);
      *keys = (set >> index & 1) != 0 ? intersect(*keys, pattern, where) : subtract(*keys, pattern, where);
    }
    if (keys->empty()) continue;
    choices.push_back(grammar_.sequence({quote, grammar_.dfa(std::move(keys)), quote, rules_.colon(), value}));
  }
  return grammar_.choice(std::move(choices));
}

ExpressionId SchemaCompiler::compile_object(const Items& flat) {
  bool speaks = false;
  for (const Item& item : flat) {
    for (const char* name : {"dependentRequired", "dependentSchemas"}) {
      if (keyword(item, name) != nullptr) fail(ErrorCode::unsupported, "{}: this keyword is not supported", place(item, name));
    }
    const SchemaJson* unevaluated = keyword(item, "unevaluatedProperties");
    const bool refers = keyword(item, "$ref") != nullptr || keyword(item, "allOf") != nullptr || keyword(item, "anyOf") != nullptr ||
                        keyword(item, "oneOf") != nullptr || keyword(item, "if") != nullptr;
    if (unevaluated != nullptr && !is_true(unevaluated) && refers) {
      fail(ErrorCode::unsupported, "{}: beside references and combinations this keyword is not supported",
           place(item, "unevaluatedProperties"));
    }
    for (const char* name : {"properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "required",
                             "propertyNames", "minProperties", "maxProperties"}) {
      speaks = speaks || keyword(item, name) != nullptr;
    }
  }
  if (!speaks) return rules_.object();
  const std::vector<std::string> names = property_names(flat);
  const std::vector<std::string> required = required_names(flat);
  const std::optional<Dfa> allowed = allowed_names(flat);
  std::vector<Member> members;
  for (const std::string& name : names) {
    const bool is_required = std::find(required.begin(), required.end(), name) != required.end();
    const bool is_allowed = !allowed || allowed->accepts(json_escaped(name));
    const Items items = schemas_of_property(flat, name);
    const ExpressionId value = !is_allowed ? grammar_.never() : items.empty() ? rules_.value() : compile(items);
    if (grammar_.is_never(value)) {
      if (is_required) return grammar_.never();
      continue;
    }
    members.push_back({grammar_.sequence({grammar_.literal("\"" + json_escaped(name) + "\""), rules_.colon(), value}), is_required});
  }
  const ExpressionId other = compile_other_members(flat, names);
  const auto [smallest, largest] = limits(flat, "minProperties", "maxProperties");
  const auto needed =
      static_cast<uint64_t>(std::count_if(members.begin(), members.end(), [](const Member& member) { return member.required; }));
  if (needed > largest) return grammar_.never();
  const uint64_t possible = grammar_.is_never(other) ? members.size() : UINT64_MAX;
  if (smallest > possible) return grammar_.never();
  const bool counts = smallest > needed || largest < possible;
  ExpressionId inside = 0;
  if (counts || (options_.any_spelling && members.size() + 1 > 1 && members.size() <= kMostGroupMembers)) {
    inside = members_in_any_order(members, other, smallest, largest, document_.pointer(*flat.front().schema));
  } else {
    inside = members_in_order(members, other);
  }
  return rules_.enclosed('{', inside, '}');
}

ExpressionId SchemaCompiler::members_in_any_order(const std::vector<Member>& members, ExpressionId other, uint64_t smallest,
                                                  uint64_t largest, const std::string& where) {
  if (members.size() > kMostGroupMembers) {
    fail(ErrorCode::unsupported, "{}: more than {} properties beside minProperties or maxProperties", where, kMostGroupMembers);
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

ExpressionId SchemaCompiler::members_in_order(const std::vector<Member>& members, ExpressionId other) {
  const ExpressionId comma = rules_.comma();
  const ExpressionId others = grammar_.repeat(grammar_.sequence({comma, other}), 0, kUnlimited);
  const auto anchor = std::find_if(members.begin(), members.end(), [](const Member& member) { return member.required; });
  if (anchor != members.end()) {
    std::vector<ExpressionId> parts;
    for (auto member = members.begin(); member != anchor; ++member) {
      parts.push_back(grammar_.optional(grammar_.sequence({member->expression, comma})));
    }
    parts.push_back(anchor->expression);
    for (auto member = anchor + 1; member != members.end(); ++member) {
      const ExpressionId next = grammar_.sequence({comma, member->expression});
      parts.push_back(member->required ? next : grammar_.optional(next));
    }
    parts.push_back(others);
    return grammar_.sequence(std::move(parts));
  }
  // Each member may be the first; what may follow it is a rule, since it is part of all that come before.
  std::vector<ExpressionId> choices = {grammar_.empty(), grammar_.sequence({other, others})};
  ExpressionId tail = others;
  for (size_t index = members.size(); index-- > 0;) {
    choices.push_back(grammar_.sequence({members[index].expression, tail}));
    tail = grammar_.sequence({grammar_.optional(grammar_.sequence({comma, members[index].expression})), tail});
    if (members.size() <= kMostWrittenOut) continue;
    const RuleId rule = grammar_.add_rule("members", true);
    grammar_.define(rule, tail);
    tail = grammar_.rule(rule);
  }
  return grammar_.choice(std::move(choices));
}

}  // namespace wick
