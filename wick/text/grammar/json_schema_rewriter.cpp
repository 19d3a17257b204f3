#include "wick/text/grammar/json_schema_rewriter.h"

#include <algorithm>
#include <array>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/json.h"

namespace wick {
namespace {

// Keywords that say nothing of values, that belong to the document, or that another keyword reads.
constexpr std::array<std::string_view, 23> kSilent = {
    "$schema", "$id",         "$anchor",         "$dynamicAnchor",   "$defs",         "definitions", "$comment",   "$vocabulary",
    "title",   "description", "default",         "examples",         "example",       "readOnly",    "writeOnly",  "deprecated",
    "then",    "else",        "contentEncoding", "contentMediaType", "contentSchema", "minContains", "maxContains"};

constexpr std::array<std::string_view, 7> kJsonTypes = {"null", "boolean", "object", "array", "string", "integer", kFraction};

// An object with this member, whose other members may be any.
SchemaJson object_with(const std::string& name, SchemaJson value) {
  return {{"type", "object"}, {"required", {name}}, {"properties", {{name, std::move(value)}}}, {"additionalProperties", true}};
}
SchemaJson without(const std::string& name) { return {{"properties", {{name, false}}}, {"additionalProperties", true}}; }

SchemaJson any_of(std::vector<SchemaJson> alternatives) {
  if (alternatives.empty()) return false;
  if (alternatives.size() == 1) return std::move(alternatives.front());
  SchemaJson list = SchemaJson::array();
  for (SchemaJson& alternative : alternatives) list.push_back(std::move(alternative));
  return {{"anyOf", std::move(list)}};
}

SchemaJson all_of(std::vector<SchemaJson> parts) {
  SchemaJson list = SchemaJson::array();
  for (SchemaJson& part : parts) list.push_back(std::move(part));
  return {{"allOf", std::move(list)}};
}

// `count` elements that may be any, then one of `schema`.
SchemaJson array_with(size_t count, SchemaJson schema) {
  SchemaJson prefix = SchemaJson::array();
  for (size_t index = 0; index < count; ++index) prefix.push_back(true);
  prefix.push_back(std::move(schema));
  return {{"type", "array"}, {"minItems", count + 1}, {"prefixItems", std::move(prefix)}};
}

// Arrays that differ from a given one take a branch for each element, with all elements before it: quadratic.
constexpr size_t kMaxElementsToDiffer = 300;
// Each branch excludes all others: quadratic.
constexpr size_t kMaxOverlappingBranches = 100;

SchemaJson different_from(const SchemaJson& value) { return {{"not", {{"const", value}}}}; }

SchemaJson different_array(const SchemaJson& value) {
  std::vector<SchemaJson> ways = {{{"type", "array"}, {"minItems", value.size() + 1}}};
  if (!value.empty()) ways.push_back({{"type", "array"}, {"maxItems", value.size() - 1}});
  for (size_t index = 0; index < value.size(); ++index) ways.push_back(array_with(index, different_from(value[index])));
  return any_of(std::move(ways));
}

SchemaJson different_object(const SchemaJson& value) {
  std::vector<SchemaJson> ways;
  SchemaJson names = SchemaJson::array();
  SchemaJson anything = SchemaJson::object();
  for (const auto& [name, member] : value.items()) {
    SchemaJson lacking = without(name);
    lacking["type"] = "object";
    ways.push_back(std::move(lacking));
    ways.push_back(object_with(name, different_from(member)));
    names.push_back(name);
    anything[name] = true;
  }
  ways.push_back({{"type", "object"},
                  {"required", std::move(names)},
                  {"properties", std::move(anything)},
                  {"additionalProperties", true},
                  {"minProperties", value.size() + 1}});
  return any_of(std::move(ways));
}

// Values that are none of the list.
SchemaJson different_from_all(const SchemaJson& values) {
  SchemaJson strings = SchemaJson::array();
  SchemaJson numbers = SchemaJson::array();
  std::vector<SchemaJson> arrays = {{{"type", "array"}}};
  std::vector<SchemaJson> objects = {{{"type", "object"}}};
  SchemaJson others = {nullptr, true, false};
  for (const SchemaJson& value : values) {
    if (value.is_string()) {
      strings.push_back(value);
    } else if (value.is_number()) {
      numbers.push_back(value);
    } else if (value.is_array()) {
      arrays.push_back(different_array(value));
    } else if (value.is_object()) {
      objects.push_back(different_object(value));
    } else {
      others.erase(std::remove(others.begin(), others.end(), value), others.end());
    }
  }
  std::vector<SchemaJson> alternatives;
  const auto add = [&](const char* type, SchemaJson without_these) {
    SchemaJson schema = {{"type", type}};
    if (!without_these.empty()) schema[kDiffers] = std::move(without_these);
    alternatives.push_back(std::move(schema));
  };
  add("string", std::move(strings));
  add("number", std::move(numbers));
  alternatives.push_back(all_of(std::move(arrays)));
  alternatives.push_back(all_of(std::move(objects)));
  if (!others.empty()) alternatives.push_back({{"enum", std::move(others)}});
  return any_of(std::move(alternatives));
}

// What is not of the types named; "number" names both kinds of numbers. None where a name is no type.
std::optional<SchemaJson> other_types(const SchemaJson& named, bool made) {
  std::vector<std::string_view> others(kJsonTypes.begin(), kJsonTypes.end());
  const SchemaJson names = named.is_array() ? named : SchemaJson::array({named});
  for (const SchemaJson& name : names) {
    if (!name.is_string()) return std::nullopt;
    const auto text = name.get<std::string>();
    const bool number = text == "number";
    const bool known = std::find(kJsonTypes.begin(), kJsonTypes.end(), text) != kJsonTypes.end() && (made || text != kFraction);
    if (!number && !known) return std::nullopt;
    std::erase_if(others, [&](std::string_view type) { return type == text || (number && (type == "integer" || type == kFraction)); });
  }
  if (others.empty()) return SchemaJson(false);
  SchemaJson list = SchemaJson::array();
  for (const std::string_view type : others) list.push_back(std::string(type));
  return SchemaJson{{"type", std::move(list)}};
}

// A count as the opposite's limit: one less, one more.
std::optional<uint64_t> count_of(const SchemaJson& value) {
  if (!value.is_number() || value.get<double>() < 0 || value.get<double>() > 1e15) return std::nullopt;
  return static_cast<uint64_t>(value.get<double>());
}

}  // namespace

bool says_nothing(std::string_view keyword) { return std::find(kSilent.begin(), kSilent.end(), keyword) != kSilent.end(); }

template <class Make>
const SchemaJson& SchemaRewriter::made_once(const SchemaJson& schema, const char* what, Make&& make) {
  const std::pair<const SchemaJson*, std::string> key(&schema, what);
  if (const auto known = made_.find(key); known != made_.end()) return *known->second;
  const SchemaJson& made = document_.add(make(), schema, what);
  made_.emplace(key, &made);
  return made;
}

const SchemaJson& SchemaRewriter::negated(const SchemaJson& schema) {
  const SchemaJson* target = &schema;
  // References alone are followed at once.
  for (int steps = 0; steps < 100 && target->is_object() && target->size() == 1 && target->contains("$ref"); ++steps) {
    target = &document_.resolve(*target, "$ref");
  }
  return made_once(*target, "not", [&] { return negation_of(*target); });
}

const SchemaJson& SchemaRewriter::conditional(const SchemaJson& schema) {
  return made_once(schema, "if", [&] {
    const SchemaJson& condition = schema.at("if");
    const auto branch = [&](const char* name, SchemaJson holds) {
      std::vector<SchemaJson> parts = {std::move(holds)};
      if (const auto found = schema.find(name); found != schema.end()) parts.push_back(reference(*found));
      return all_of(std::move(parts));
    };
    return any_of({branch("then", reference(condition)), branch("else", opposite(condition))});
  });
}

const SchemaJson& SchemaRewriter::dependencies(const SchemaJson& schema) {
  return made_once(schema, "dependencies", [&] {
    std::vector<SchemaJson> parts;
    if (const auto required = schema.find("dependentRequired"); required != schema.end()) {
      const std::string place = document_.pointer(schema) + "/dependentRequired";
      if (!required->is_object()) fail(ErrorCode::invalid_argument, "{}: must be an object of lists of names", place);
      for (const auto& [name, others] : required->items()) {
        if (!others.is_array()) fail(ErrorCode::invalid_argument, "{}/{}: must be a list of names", place, name);
        SchemaJson names = others;
        names.push_back(name);
        parts.push_back(any_of({without(name), {{"type", "object"}, {"required", std::move(names)}}}));
      }
    }
    if (const auto schemas = schema.find("dependentSchemas"); schemas != schema.end()) {
      for (const auto& [name, needed] : schemas->items()) {
        const SchemaJson has_name = {{"type", "object"}, {"required", {name}}};
        parts.push_back(any_of({without(name), all_of({has_name, reference(needed)})}));
      }
    }
    return all_of(std::move(parts));
  });
}

const SchemaJson& SchemaRewriter::exactly_one(const SchemaJson& schema) {
  return made_once(schema, "oneOf", [&] {
    std::vector<SchemaJson> alternatives;
    const SchemaJson& branches = schema.at("oneOf");
    if (branches.size() > kMaxOverlappingBranches) {
      fail(ErrorCode::unsupported,
           "{}/oneOf: of more than {} branches no two may overlap; take anyOf, or tell them apart by a required property",
           document_.pointer(schema), kMaxOverlappingBranches);
    }
    for (const SchemaJson& branch : branches) {
      std::vector<SchemaJson> parts = {reference(branch)};
      for (const SchemaJson& other : branches) {
        if (&other != &branch) parts.push_back(opposite(other));
      }
      alternatives.push_back(all_of(std::move(parts)));
    }
    return any_of(std::move(alternatives));
  });
}

SchemaJson SchemaRewriter::negation_of(const SchemaJson& schema) {
  if (schema.is_boolean()) return !schema.get<bool>();
  Alternatives alternatives;
  for (const auto& [keyword, value] : schema.items()) {
    if (!says_nothing(keyword)) negate(schema, keyword, value, alternatives);
  }
  return any_of(std::move(alternatives));
}

// One way for each condition not to hold.
void SchemaRewriter::negate(const SchemaJson& schema, const std::string& keyword, const SchemaJson& value, Alternatives& into) {
  if (negate_value(schema, keyword, value, into) || negate_array(schema, keyword, value, into) ||
      negate_object(schema, keyword, value, into) || negate_combination(schema, keyword, value, into)) {
    return;
  }
  constexpr std::array<std::string_view, 9> kConditions = {"uniqueItems",           "propertyNames", "patternProperties",
                                                           "additionalProperties",  "items",         "unevaluatedItems",
                                                           "unevaluatedProperties", "$recursiveRef", "dependencies"};
  const bool is_condition = std::find(kConditions.begin(), kConditions.end(), keyword) != kConditions.end();
  const bool of_format = keyword == "format" && enforce_formats_;
  if (is_condition || of_format) {
    fail(ErrorCode::unsupported, "{}/{}: cannot be enforced where it must not hold (beside not, if or oneOf)", document_.pointer(schema),
         keyword);
  }
}

void SchemaRewriter::refuse_long_array(const SchemaJson& schema, const std::string& keyword) const {
  fail(ErrorCode::unsupported,
       "{}/{}: an array of more than {} elements cannot be enforced where it must not hold (beside not, if or oneOf)",
       document_.pointer(schema), keyword, kMaxElementsToDiffer);
}

bool SchemaRewriter::negate_value(const SchemaJson& schema, const std::string& keyword, const SchemaJson& value, Alternatives& into) {
  static const std::map<std::string, std::pair<const char*, const char*>> kOpposites = {
      {"minimum", {"number", "exclusiveMaximum"}}, {"exclusiveMinimum", {"number", "maximum"}}, {"maximum", {"number", "exclusiveMinimum"}},
      {"exclusiveMaximum", {"number", "minimum"}}, {"multipleOf", {"number", kNoMultipleOf}},   {"pattern", {"string", kLacks}}};
  static const std::map<std::string, std::tuple<const char*, const char*, bool>> kCounts = {
      {"minLength", {"string", "maxLength", true}},
      {"maxLength", {"string", "minLength", false}},
      {"minItems", {"array", "maxItems", true}},
      {"maxItems", {"array", "minItems", false}},
      {"minProperties", {"object", "maxProperties", true}},
      {"maxProperties", {"object", "minProperties", false}}};
  if (const auto entry = kOpposites.find(keyword); entry != kOpposites.end()) {
    into.push_back({{"type", entry->second.first}, {entry->second.second, value}});
    return true;
  }
  if (const auto entry = kCounts.find(keyword); entry != kCounts.end()) {
    const auto& [type, name, less] = entry->second;
    const std::optional<uint64_t> count = count_of(value);
    if (!count) fail(ErrorCode::invalid_argument, "{}/{}: must be a whole number of 0 or more", document_.pointer(schema), keyword);
    if (!less || *count > 0) into.push_back({{"type", type}, {name, less ? *count - 1 : *count + 1}});
    return true;
  }
  if (keyword == "type") {
    const std::optional<SchemaJson> others = other_types(value, document_.is_made(schema));
    if (!others) fail(ErrorCode::invalid_argument, "{}/type: {} is no type of JSON", document_.pointer(schema), json_text(value));
    into.push_back(*others);
  } else if (keyword == "const" || (keyword == "enum" && value.is_array())) {
    const SchemaJson values = keyword == "const" ? SchemaJson::array({value}) : value;
    const bool is_long = std::any_of(values.begin(), values.end(),
                                     [](const SchemaJson& each) { return each.is_array() && each.size() > kMaxElementsToDiffer; });
    if (is_long) refuse_long_array(schema, keyword);
    into.push_back(different_from_all(values));
  } else {
    return false;
  }
  return true;
}

bool SchemaRewriter::negate_array(const SchemaJson& schema, const std::string& keyword, const SchemaJson& value, Alternatives& into) {
  const auto prefix = schema.find("prefixItems");
  const size_t listed = prefix == schema.end() ? 0 : prefix->size();
  if (keyword == "prefixItems") {
    if (listed > kMaxElementsToDiffer) refuse_long_array(schema, keyword);
    for (size_t index = 0; index < value.size(); ++index) into.push_back(array_with(index, opposite(value[index])));
    return true;
  }
  if (keyword == "items") {
    const bool all = value.is_boolean() ? value.get<bool>() : value.empty();
    if (all) return true;
    if (value.is_boolean()) {
      into.push_back({{"type", "array"}, {"minItems", listed + 1}});
    } else if (listed == 0) {
      into.push_back({{"type", "array"}, {"contains", opposite(value)}});
    } else {
      return false;
    }
    return true;
  }
  if (keyword == "uniqueItems") return value.is_boolean() && !value.get<bool>();
  if (keyword != "contains") return false;
  const auto limit = [&](const char* name) {
    const auto found = schema.find(name);
    return found == schema.end() ? std::nullopt : count_of(*found);
  };
  const uint64_t least = limit("minContains").value_or(1);
  if (least > 0) {
    into.push_back({{"type", "array"}, {"contains", reference(value)}, {"minContains", 0}, {"maxContains", least - 1}});
  }
  if (const std::optional<uint64_t> most = limit("maxContains")) {
    into.push_back({{"type", "array"}, {"contains", reference(value)}, {"minContains", *most + 1}});
  }
  return true;
}

bool SchemaRewriter::negate_object(const SchemaJson& schema, const std::string& keyword, const SchemaJson& value, Alternatives& into) {
  if (keyword == "properties") {
    for (const auto& [name, member] : value.items()) into.push_back(object_with(name, opposite(member)));
    return true;
  }
  if (keyword == "required" && value.is_array()) {
    for (const SchemaJson& name : value) {
      if (!name.is_string()) return false;
      into.push_back(without(name.get<std::string>()));
      into.back()["type"] = "object";
    }
    return true;
  }
  if (keyword == "additionalProperties" || keyword == "unevaluatedProperties" || keyword == "unevaluatedItems") {
    return value.is_boolean() ? value.get<bool>() : value.empty();
  }
  if (keyword == "dependentRequired" || keyword == "dependentSchemas") {
    // Both are said by one schema, which is denied once.
    if (keyword == "dependentRequired" || !schema.contains("dependentRequired")) into.push_back(opposite(dependencies(schema)));
    return true;
  }
  return false;
}

bool SchemaRewriter::negate_combination(const SchemaJson& schema, const std::string& keyword, const SchemaJson& value, Alternatives& into) {
  if (keyword == "$ref" || keyword == "$dynamicRef") {
    into.push_back(opposite(document_.resolve(schema, keyword.c_str())));
  } else if (keyword == "not") {
    into.push_back(reference(value));
  } else if (keyword == "if") {
    if (schema.contains("then") || schema.contains("else")) into.push_back(opposite(conditional(schema)));
  } else if (keyword == "allOf") {
    for (const SchemaJson& part : value) into.push_back(opposite(part));
  } else if (keyword == "anyOf") {
    std::vector<SchemaJson> parts;
    for (const SchemaJson& branch : value) parts.push_back(opposite(branch));
    into.push_back(all_of(std::move(parts)));
  } else if (keyword == "oneOf") {
    into.push_back(opposite(exactly_one(schema)));
  } else if (document_.is_made(schema) && keyword == kDiffers) {
    into.push_back({{"enum", value}});
  } else if (document_.is_made(schema) && keyword == kNoMultipleOf) {
    into.push_back({{"multipleOf", value}});
  } else if (document_.is_made(schema) && keyword == kLacks) {
    into.push_back({{"type", "string"}, {"pattern", value}});
  } else {
    return false;
  }
  return true;
}

}  // namespace wick
