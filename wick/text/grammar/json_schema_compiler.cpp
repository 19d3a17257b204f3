#include "wick/text/grammar/json_schema_compiler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>
#include <unordered_map>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/text/grammar/parse_stack.h"

namespace wick {
namespace {

constexpr int kDeepestNesting = 300;
constexpr size_t kMaxRules = 20'000;
// Of combining parts, in parts that are combined: schemas of a few lines can ask for any amount.
constexpr size_t kMaxWork = 50'000;
constexpr size_t kWorkOfJudging = 5;
constexpr size_t kWorkOfMadeParts = 8;
// So many states of automata cost as much as combining one part.
constexpr size_t kStatesOfAPart = 10;
// Every part is checked for every keyword and every property.
constexpr size_t kMaxParts = 1'000;

// Keywords that say something of values and that no automaton here checks, whatever their type.
constexpr std::array<std::string_view, 3> kRefused = {"$recursiveRef", "dependencies", "additionalItems"};
// Keywords for which flatten() takes other schemas in.
constexpr std::array<std::string_view, 7> kOpened = {"$ref", "$dynamicRef", "allOf", "not", "if", "dependentRequired", "dependentSchemas"};
// More branches than these have too many subsets.
constexpr size_t kMaxBranchesBesideUnevaluated = 5;

bool is_opened(std::string_view keyword) { return std::find(kOpened.begin(), kOpened.end(), keyword) != kOpened.end(); }

// Values of JSON as it compares them: 1 is 1.0, and objects have no order.
class ValueSet {
 public:
  // False where it is there already.
  bool insert(const SchemaJson& value) {
    return value.is_structured() ? structured_.insert(nlohmann::json(value)).second : scalars_.insert(&value).second;
  }
  [[nodiscard]] bool contains(const SchemaJson& value) const {
    return value.is_structured() ? structured_.contains(nlohmann::json(value)) : scalars_.contains(&value);
  }

 private:
  struct Less {
    bool operator()(const SchemaJson* left, const SchemaJson* right) const { return *left < *right; }
  };
  std::set<const SchemaJson*, Less> scalars_;
  std::set<nlohmann::json> structured_;
};

bool accepts(const Automaton& automaton, std::string_view text) {
  FrameArena arena;
  Stepper stepper(automaton, arena);
  Configurations state = stepper.enter({automaton.start(), FrameArena::kBottom});
  for (size_t index = 0; index < text.size() && !state.dead(); ++index) state = stepper.step(state, static_cast<uint8_t>(text[index]));
  return state.bottom;
}

[[noreturn]] void fail_costly(const std::string& place) {
  fail(ErrorCode::unsupported, "{}: its parts combine in too many ways; make the schema simpler", place);
}

}  // namespace

SchemaCompiler::SchemaCompiler(SchemaDocument& document, const JsonOptions& options, Grammar& grammar)
    : document_(document),
      rewriter_(document, options.enforce_formats),
      options_(options),
      grammar_(grammar),
      rules_(grammar, options.whitespace) {}

ExpressionId SchemaCompiler::compile() { return compile(Items{{&document_.root()}}); }

const SchemaJson* SchemaCompiler::keyword(const Item& item, const char* name) const {
  if (!item.schema->is_object()) return nullptr;
  const auto found = item.schema->find(name);
  return found == item.schema->end() ? nullptr : &*found;
}

const SchemaJson* SchemaCompiler::made_keyword(const Item& item, const char* name) const {
  return document_.is_made(*item.schema) ? keyword(item, name) : nullptr;
}

std::string SchemaCompiler::place(const Item& item, const char* name) const { return document_.pointer(*item.schema) + "/" + name; }

uint64_t SchemaCompiler::count(const Item& item, const char* name, const SchemaJson& value) const {
  const double number = value.is_number() ? value.get<double>() : -1;
  if (number < 0 || number != std::floor(number)) {
    fail(ErrorCode::invalid_argument, "{}: must be a whole number of 0 or more", place(item, name));
  }
  return number >= 1e15 ? uint64_t{1'000'000'000'000'000} : static_cast<uint64_t>(number);
}

std::pair<uint64_t, uint64_t> SchemaCompiler::limits(const Items& flat, const char* smallest, const char* largest) const {
  std::pair<uint64_t, uint64_t> result = {0, UINT64_MAX};
  for (const Item& item : flat) {
    if (const SchemaJson* value = keyword(item, smallest)) result.first = std::max(result.first, count(item, smallest, *value));
    if (const SchemaJson* value = keyword(item, largest)) result.second = std::min(result.second, count(item, largest, *value));
  }
  return result;
}

ExpressionId SchemaCompiler::compile(const Items& items) {
  Items flat;
  if (!flatten(items, flat)) return grammar_.never();
  if (flat.empty()) return options_.bare_strings ? any_characters() : rules_.value();
  if (const auto known = known_.find(flat); known != known_.end()) return grammar_.rule(known->second);
  if (known_.size() >= kMaxRules) {
    fail(ErrorCode::unsupported, "{}: its parts combine to more than {} rules; make the schema simpler",
         document_.pointer(*flat.front().schema), kMaxRules);
  }
  const bool made = std::any_of(flat.begin(), flat.end(), [&](const Item& item) { return document_.is_made(*item.schema); });
  spend(flat.size() + (made ? kWorkOfMadeParts : 0), flat);
  if (++depth_ > kDeepestNesting)
    fail(ErrorCode::unsupported, "{}: nested more than {} deep", document_.pointer(*flat.front().schema), kDeepestNesting);
  const RuleId rule = grammar_.add_rule(document_.pointer(*flat.front().schema));
  known_.emplace(flat, rule);
  grammar_.define(rule, compile_flat(flat));
  --depth_;
  return grammar_.rule(rule);
}

bool SchemaCompiler::can_spend(size_t work) {
  shared_->work += work;
  return shared_->work <= kMaxWork;
}

void SchemaCompiler::spend(size_t work, const Items& flat) {
  if (!can_spend(work)) fail_costly(document_.pointer(*flat.front().schema));
}

void SchemaCompiler::spend_states(size_t states, const std::string& place) {
  if (!can_spend(states / kStatesOfAPart)) fail_costly(place);
}

bool SchemaCompiler::flatten(const Items& items, Items& flat) {
  Items open(items.rbegin(), items.rend());
  constexpr size_t kSilent = SIZE_MAX;
  std::unordered_map<const SchemaJson*, size_t> places;  // in flat; kSilent of those that are not in it
  for (size_t index = 0; index < flat.size(); ++index) places.emplace(flat[index].schema, index);
  while (!open.empty()) {
    const Item item = open.back();
    open.pop_back();
    if (item.schema->is_boolean()) {
      if (!item.schema->get<bool>()) return false;
      continue;
    }
    const auto [same, is_new] = places.emplace(item.schema, kSilent);
    if (!is_new) {
      if (same->second != kSilent) flat[same->second].done |= item.done;
      continue;
    }
    const bool speaks = std::any_of(item.schema->items().begin(), item.schema->items().end(),
                                    [](const auto& entry) { return !says_nothing(entry.key()) && !is_opened(entry.key()); });
    if (speaks) {
      if (flat.size() >= kMaxParts) {
        fail(ErrorCode::unsupported, "{}: more than {} schemas must hold at once; make the schema simpler", document_.pointer(*item.schema),
             kMaxParts);
      }
      same->second = flat.size();
      flat.push_back(item);
    }
    open_parts(item, open);
  }
  return true;
}

// In the order in which they are taken out again.
void SchemaCompiler::open_parts(const Item& item, Items& open) {
  const SchemaJson& schema = *item.schema;
  if (schema.contains("dependentRequired") || schema.contains("dependentSchemas")) open.push_back({&rewriter_.dependencies(schema)});
  // Alone, `if` only says what is evaluated.
  const bool decides = schema.contains("then") || schema.contains("else") || document_.speaks_of_unevaluated();
  if (schema.contains("if") && decides) open.push_back({&rewriter_.conditional(schema)});
  if (const SchemaJson* negated = keyword(item, "not")) open.push_back({&rewriter_.negated(*negated)});
  if (const SchemaJson* all_of = keyword(item, "allOf")) {
    for (size_t index = all_of->size(); index-- > 0;) open.push_back({&(*all_of)[index]});
  }
  for (const char* name : {"$dynamicRef", "$ref"}) {
    if (keyword(item, name) != nullptr) open.push_back({&document_.resolve(schema, name)});
  }
}

bool SchemaCompiler::speaks_of_unevaluated(const Items& flat) const {
  return document_.speaks_of_unevaluated() && std::any_of(flat.begin(), flat.end(), [&](const Item& item) {
           const SchemaJson* properties = keyword(item, "unevaluatedProperties");
           const SchemaJson* items = keyword(item, "unevaluatedItems");
           return (properties != nullptr && !is_true(properties)) || (items != nullptr && !is_true(items));
         });
}

std::vector<const SchemaJson*> SchemaCompiler::evaluating(const Item& item, const Items& flat) {
  std::vector<const SchemaJson*> result;
  std::set<const SchemaJson*> seen;
  add_evaluating(*item.schema, flat, seen, result);
  std::erase(result, item.schema);
  return result;
}

void SchemaCompiler::add_evaluating(const SchemaJson& schema, const Items& flat, std::set<const SchemaJson*>& seen,
                                    std::vector<const SchemaJson*>& into) {
  if (!schema.is_object() || !seen.insert(&schema).second) return;
  if (!document_.is_made(schema)) into.push_back(&schema);
  Items parts;
  const SchemaJson* const negated = keyword({&schema}, "not");
  open_parts({&schema}, parts);
  for (const Item& part : parts) {
    // What must not hold evaluates nothing.
    if (negated == nullptr || part.schema != &rewriter_.negated(*negated)) add_evaluating(*part.schema, flat, seen, into);
  }
  for (const char* name : {"anyOf", "oneOf"}) {
    const SchemaJson* const branches = keyword({&schema}, name);
    if (branches == nullptr) continue;
    for (const SchemaJson& branch : *branches) {
      if (holds(branch, flat)) add_evaluating(branch, flat, seen, into);
    }
  }
}

// Whether all that it says is among what holds here.
bool SchemaCompiler::holds(const SchemaJson& schema, const Items& flat) {
  Items parts;
  if (!flatten({{&schema}}, parts)) return false;
  return std::all_of(parts.begin(), parts.end(), [&](const Item& part) {
    return std::any_of(flat.begin(), flat.end(), [&](const Item& item) { return item.schema == part.schema; });
  });
}

ExpressionId SchemaCompiler::compile_flat(const Items& flat) {
  for (size_t at = 0; at < flat.size(); ++at) {
    if ((flat[at].done & kAnyOf) == 0 && keyword(flat[at], "anyOf") != nullptr) return compile_any_of(flat, at);
    if ((flat[at].done & kOneOf) == 0 && keyword(flat[at], "oneOf") != nullptr) return compile_one_of(flat, at);
  }
  refuse_unsupported(flat);
  const bool has_values = std::any_of(flat.begin(), flat.end(), [&](const Item& item) {
    return (item.done & kValues) == 0 && (keyword(item, "enum") != nullptr || keyword(item, "const") != nullptr);
  });
  if (has_values) return compile_values(flat);
  const uint32_t types = types_of(flat) & (options_.bare_strings ? Type::string : Type::all);
  std::vector<ExpressionId> choices;
  if ((types & Type::object) != 0) choices.push_back(compile_object(flat));
  if ((types & Type::array) != 0) choices.push_back(compile_array(flat));
  if ((types & Type::string) != 0) choices.push_back(compile_string(flat));
  const uint32_t numbers = types & (Type::integer | Type::fraction);
  if (numbers != 0) choices.push_back(compile_number(flat, numbers));
  if ((types & Type::boolean) != 0) {
    choices.push_back(grammar_.literal("true"));
    choices.push_back(grammar_.literal("false"));
  }
  if ((types & Type::null) != 0) choices.push_back(grammar_.literal("null"));
  return grammar_.choice(std::move(choices));
}

ExpressionId SchemaCompiler::compile_any_of(const Items& flat, size_t at) {
  const SchemaJson& branches = *keyword(flat[at], "anyOf");
  std::vector<ExpressionId> choices;
  // A value that fits several branches has what all of them evaluate. Those of the rewriter exclude each other.
  const bool together = speaks_of_unevaluated(flat) && !document_.is_made(*flat[at].schema);
  if (together && branches.size() > kMaxBranchesBesideUnevaluated) {
    fail(ErrorCode::unsupported, "{}: more than {} branches beside unevaluatedProperties or unevaluatedItems", place(flat[at], "anyOf"),
         kMaxBranchesBesideUnevaluated);
  }
  const size_t subsets = together ? size_t{1} << branches.size() : branches.size() + 1;
  for (size_t subset = 1; subset < subsets; ++subset) {
    Items items = flat;
    items[at].done |= kAnyOf;
    if (!together) items.push_back({&branches[subset - 1]});
    for (size_t index = 0; together && index < branches.size(); ++index) {
      if ((subset >> index & 1) != 0) items.push_back({&branches[index]});
    }
    choices.push_back(compile(items));
  }
  return grammar_.choice(std::move(choices));
}

ExpressionId SchemaCompiler::compile_one_of(const Items& flat, size_t at) {
  const SchemaJson& branches = *keyword(flat[at], "oneOf");
  const bool are_apart = takes_one_of_for_any_of_ || are_told_apart(flat, at);
  std::vector<ExpressionId> choices;
  for (size_t index = 0; index < branches.size(); ++index) {
    Items items = flat;
    items[at].done |= kOneOf;
    items.push_back({&branches[index]});
    choices.push_back(compile(items));
    if (are_apart || grammar_.is_never(choices.back())) continue;
    for (size_t other = 0; other < index; ++other) {
      if (grammar_.is_never(choices[other])) continue;
      items.push_back({&branches[other]});
      if (can_hold_together(items)) {
        Items exact = flat;
        exact[at].done |= kOneOf;
        exact.push_back({&rewriter_.exactly_one(*flat[at].schema)});
        return compile(exact);
      }
      items.pop_back();
    }
  }
  return grammar_.choice(std::move(choices));
}

// Whether no value fits two of them, seen from the values that they list or, of objects, from those of one required property.
bool SchemaCompiler::are_told_apart(const Items& parts, size_t at) {
  constexpr size_t kMaxCandidates = 8;
  std::vector<Items> flats;
  for (const SchemaJson& branch : *keyword(parts[at], "oneOf")) {
    Items items = parts;
    Items flat;
    items.push_back({&branch});
    if (flatten(items, flat)) flats.push_back(std::move(flat));
  }
  if (flats.size() < 2 || list_different(flats)) return true;
  if (!std::all_of(flats.begin(), flats.end(), [&](const Items& flat) { return types_of(flat) == Type::object; })) return false;
  std::vector<std::string> candidates = required_names(flats.front());
  if (candidates.size() > kMaxCandidates) candidates.resize(kMaxCandidates);
  return std::any_of(candidates.begin(), candidates.end(), [&](const std::string& name) {
    std::vector<Items> members;
    for (const Items& flat : flats) {
      const std::vector<std::string> required = required_names(flat);
      Items member;
      if (std::find(required.begin(), required.end(), name) == required.end()) return false;
      if (flatten(schemas_of_property(flat, name), member)) members.push_back(std::move(member));
    }
    return list_different(members);
  });
}

// Whether each lists the values that fit it, and none is in two lists.
bool SchemaCompiler::list_different(const std::vector<Items>& flats) const {
  ValueSet seen;
  return std::all_of(flats.begin(), flats.end(), [&](const Items& flat) {
    const bool lists = std::any_of(flat.begin(), flat.end(),
                                   [&](const Item& item) { return keyword(item, "enum") != nullptr || keyword(item, "const") != nullptr; });
    const std::vector<const SchemaJson*> values = lists ? values_of(flat) : std::vector<const SchemaJson*>();
    return lists && std::all_of(values.begin(), values.end(), [&](const SchemaJson* value) { return seen.insert(*value); });
  });
}

// Whether any value fits all of them, judged without formats, whose patterns are narrower than the formats.
bool SchemaCompiler::can_hold_together(const Items& items) {
  Grammar grammar;
  SchemaCompiler judge(document_, {.any_spelling = true, .whitespace = false, .enforce_formats = false}, grammar);
  judge.begin_judging(*this, items);
  judge.takes_one_of_for_any_of_ = true;
  return !grammar.is_never(judge.compile(items));
}

void SchemaCompiler::begin_judging(const SchemaCompiler& parent, const Items& items) {
  constexpr int kDeepestJudge = 8;
  judge_depth_ = parent.judge_depth_ + 1;
  shared_ = parent.shared_;
  spend(kWorkOfJudging, items);
  if (judge_depth_ > kDeepestJudge) {
    fail(ErrorCode::unsupported, "{}: a part that is compared with itself, through references; make the schema simpler",
         document_.pointer(*items.front().schema));
  }
}

void SchemaCompiler::refuse_unsupported(const Items& flat) const {
  for (const Item& item : flat) {
    for (const std::string_view name : kRefused) {
      if (item.schema->contains(std::string(name)))
        fail(ErrorCode::unsupported, "{}/{}: this keyword is not supported", document_.pointer(*item.schema), name);
    }
    const SchemaJson* dialect = keyword(item, "$schema");
    const bool known =
        dialect == nullptr || (dialect->is_string() && dialect->get<std::string>().find("json-schema.org/") != std::string::npos);
    if (!known) fail(ErrorCode::unsupported, "{}: {} is a dialect that is not known", place(item, "$schema"), dialect->dump());
  }
}

uint32_t SchemaCompiler::types_named(const SchemaJson& names, const std::string& place, bool made) const {
  static const std::map<std::string, uint32_t> kTypes = {{"null", Type::null},
                                                         {"boolean", Type::boolean},
                                                         {"object", Type::object},
                                                         {"array", Type::array},
                                                         {"string", Type::string},
                                                         {"integer", Type::integer},
                                                         {"number", Type::integer | Type::fraction}};
  uint32_t result = 0;
  const auto add = [&](const SchemaJson& name) {
    if (made && name == kFraction) {
      result |= Type::fraction;
      return;
    }
    const auto type = name.is_string() ? kTypes.find(name.get<std::string>()) : kTypes.end();
    if (type == kTypes.end()) fail(ErrorCode::invalid_argument, "{}: {} is no type of JSON", place, json_text(name));
    result |= type->second;
  };
  if (!names.is_array()) {
    add(names);
  } else {
    for (const SchemaJson& name : names) add(name);
  }
  return result;
}

uint32_t SchemaCompiler::types_of(const Items& flat) const {
  uint32_t types = Type::all;
  for (const Item& item : flat) {
    if (const SchemaJson* names = keyword(item, "type")) types &= types_named(*names, place(item, "type"), document_.is_made(*item.schema));
  }
  return types;
}

uint32_t SchemaCompiler::type_of(const SchemaJson& value) {
  if (value.is_null()) return Type::null;
  if (value.is_boolean()) return Type::boolean;
  if (value.is_object()) return Type::object;
  if (value.is_array()) return Type::array;
  if (value.is_string()) return Type::string;
  const double number = value.get<double>();
  return number == std::floor(number) ? Type::integer : Type::fraction;
}

std::vector<const SchemaJson*> SchemaCompiler::values_of(const Items& flat) const {
  std::vector<const SchemaJson*> values;
  bool first = true;
  const auto restrict_to = [&](const std::vector<const SchemaJson*>& allowed) {
    ValueSet known;
    if (first) {
      std::copy_if(allowed.begin(), allowed.end(), std::back_inserter(values),
                   [&](const SchemaJson* value) { return known.insert(*value); });
    } else {
      for (const SchemaJson* value : allowed) known.insert(*value);
      std::erase_if(values, [&](const SchemaJson* value) { return !known.contains(*value); });
    }
    first = false;
  };
  for (const Item& item : flat) {
    if (const SchemaJson* constant = keyword(item, "const")) restrict_to({constant});
    const SchemaJson* list = keyword(item, "enum");
    if (list == nullptr) continue;
    if (!list->is_array()) fail(ErrorCode::invalid_argument, "{}: must be a list", place(item, "enum"));
    std::vector<const SchemaJson*> allowed;
    for (const SchemaJson& value : *list) allowed.push_back(&value);
    restrict_to(allowed);
  }
  return values;
}

bool SchemaCompiler::fits_rest(const Items& flat, const std::vector<const SchemaJson*>& values, std::vector<bool>& fits) {
  const uint32_t types = types_of(flat);
  fits.clear();
  for (const SchemaJson* value : values) fits.push_back((type_of(*value) & types) != 0);
  Items rest;
  for (const Item& item : flat) {
    const bool speaks = std::any_of(item.schema->items().begin(), item.schema->items().end(), [&](const auto& entry) {
      const std::string& key = entry.key();
      const bool is_done = (key == "anyOf" && (item.done & kAnyOf) != 0) || (key == "oneOf" && (item.done & kOneOf) != 0);
      return !is_done && !says_nothing(key) && !is_opened(key) && key != "enum" && key != "const" && key != "type";
    });
    if (speaks) rest.push_back({item.schema, item.done | kValues});
  }
  if (rest.empty()) return true;
  if (rest != judged_) {
    Grammar grammar;
    SchemaCompiler judge(document_, {.any_spelling = true, .whitespace = false, .enforce_formats = options_.enforce_formats}, grammar);
    judge.begin_judging(*this, rest);
    const ExpressionId root = judge.compile_flat(rest);
    judgement_ = grammar.is_never(root) ? nullptr : std::make_unique<const Automaton>(std::move(grammar), root);
    judged_ = rest;
  }
  if (judgement_ == nullptr) return false;
  for (size_t index = 0; index < values.size(); ++index) fits[index] = fits[index] && accepts(*judgement_, values[index]->dump());
  return true;
}

ExpressionId SchemaCompiler::compile_values(const Items& flat) {
  const std::vector<const SchemaJson*> values = values_of(flat);
  std::vector<bool> fits;
  if (!fits_rest(flat, values, fits)) return grammar_.never();
  std::vector<ExpressionId> choices;
  for (size_t index = 0; index < values.size(); ++index) {
    const bool is_possible = !options_.bare_strings || values[index]->is_string();
    if (fits[index] && is_possible) choices.push_back(value_expression(*values[index]));
  }
  return grammar_.choice(std::move(choices));
}

ExpressionId SchemaCompiler::value_expression(const SchemaJson& value) {
  if (options_.bare_strings) return grammar_.literal(value.get<std::string>());
  if (value.is_number()) {
    const double number = value.get<double>();
    const std::string text = json_text(value);
    if (number != std::floor(number) || std::abs(number) > 9.2e18) return grammar_.literal(text);
    // 1 and 1.0 are one number.
    const ExpressionId whole = grammar_.literal(std::to_string(static_cast<int64_t>(number)));
    if (value.is_number_integer() && !options_.any_spelling) return whole;
    return grammar_.choice({whole, grammar_.literal(std::to_string(static_cast<int64_t>(number)) + ".0")});
  }
  if (!value.is_structured()) return grammar_.literal(json_text(value));
  std::vector<ExpressionId> elements;
  std::vector<Member> members;
  for (const auto& [key, element] : value.items()) {
    if (value.is_object()) {
      const ExpressionId name = grammar_.literal("\"" + json_escaped(key) + "\"");
      members.push_back({grammar_.sequence({name, rules_.colon(), value_expression(element)}), true});
    } else {
      if (!elements.empty()) elements.push_back(rules_.comma());
      elements.push_back(value_expression(element));
    }
  }
  if (value.is_array()) return rules_.enclosed('[', grammar_.sequence(std::move(elements)), ']');
  const bool any_order = (options_.any_spelling || options_.any_order) && members.size() > 1 && members.size() <= kMaxGroupMembers;
  const ExpressionId inside =
      any_order ? members_in_any_order(members, grammar_.never(), 0, UINT64_MAX, "enum") : members_in_order(members, grammar_.never());
  return rules_.enclosed('{', inside, '}');
}

ExpressionId read_json_schema(std::string_view text, const JsonOptions& options, Grammar& grammar) {
  SchemaDocument document(text);
  return SchemaCompiler(document, options, grammar).compile();
}

}  // namespace wick
