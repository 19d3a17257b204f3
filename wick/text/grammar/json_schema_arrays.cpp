// Arrays of a JSON Schema.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "wick/base/fail.h"
#include "wick/text/grammar/json_schema_compiler.h"

namespace wick {
namespace {

constexpr uint64_t kMaxElements = 1'000'000;
// Of arrays whose elements are counted: so many conditions, and so many states, of numbers read and counted.
constexpr size_t kMaxCounted = 3;
constexpr uint64_t kMaxCountedStates = 2'000;

}  // namespace

std::vector<SchemaCompiler::Counted> SchemaCompiler::counted_of(const Items& flat) {
  std::vector<Counted> result;
  for (const Item& item : flat) {
    const SchemaJson* const schema = keyword(item, "contains");
    if (schema == nullptr) continue;
    const SchemaJson* const least = keyword(item, "minContains");
    const SchemaJson* const most = keyword(item, "maxContains");
    result.push_back({.item = &item,
                      .schema = schema,
                      .least = least == nullptr ? 1 : count(item, "minContains", *least),
                      .most = most == nullptr ? UINT64_MAX : count(item, "maxContains", *most)});
  }
  return result;
}

bool SchemaCompiler::is_evaluated_element(const Item& item, const Items& flat, size_t index, const std::vector<Counted>& counted,
                                          uint32_t fitting) {
  std::vector<const SchemaJson*> parts = evaluating(item, flat);
  const auto is_counted = [&](const SchemaJson* part) {
    for (size_t number = 0; number < counted.size(); ++number) {
      if ((fitting >> number & 1) != 0 && counted[number].item->schema == part) return true;
    }
    return false;
  };
  return is_counted(item.schema) || std::any_of(parts.begin(), parts.end(), [&](const SchemaJson* part) {
           const SchemaJson* const list = keyword({part}, "prefixItems");
           return part->contains("items") || part->contains("unevaluatedItems") || (list != nullptr && index < list->size()) ||
                  is_counted(part);
         });
}

SchemaCompiler::Items SchemaCompiler::schemas_of_element(const Items& flat, size_t index, const std::vector<Counted>& counted,
                                                         uint32_t fitting) {
  Items items;
  for (const Item& item : flat) {
    const SchemaJson* list = keyword(item, "prefixItems");
    if (list != nullptr && index < list->size()) {
      items.push_back({&(*list)[index]});
    } else if (const SchemaJson* rest = keyword(item, "items")) {
      items.push_back({rest});
    } else if (const SchemaJson* unevaluated = keyword(item, "unevaluatedItems")) {
      if (!is_evaluated_element(item, flat, index, counted, fitting)) items.push_back({unevaluated});
    }
  }
  for (size_t number = 0; number < counted.size(); ++number) {
    if ((fitting >> number & 1) != 0) {
      items.push_back({counted[number].schema});
    } else if (counted[number].most != UINT64_MAX) {
      items.push_back({&rewriter_.negated(*counted[number].schema)});
    }
  }
  return items;
}

ExpressionId SchemaCompiler::compile_array(const Items& flat) {
  auto [smallest, largest] = limits(flat, "minItems", "maxItems");
  size_t prefix = 0;
  bool differ = false;
  for (const Item& item : flat) {
    if (const SchemaJson* list = keyword(item, "prefixItems")) prefix = std::max(prefix, list->size());
    differ = differ || is_true(keyword(item, "uniqueItems"));
  }
  if (smallest > kMaxElements) fail(ErrorCode::unsupported, "{}: above {}", place(flat.front(), "minItems"), kMaxElements);
  if (differ && largest > 1) return compile_set(flat, prefix, smallest, largest);
  if (const std::vector<Counted> counted = counted_of(flat); !counted.empty())
    return compile_counted_array(flat, counted, prefix, smallest, largest);
  const auto element = [&](size_t index) {
    const Items items = schemas_of_element(flat, index, {}, 0);
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
  const uint32_t most = largest > kMaxElements ? kUnlimited : static_cast<uint32_t>(largest);
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

// Rules for what may follow, by the number of elements read and of those that each condition counts, as far as these matter.
ExpressionId SchemaCompiler::compile_counted_array(const Items& flat, const std::vector<Counted>& counted, size_t prefix, uint64_t smallest,
                                                   uint64_t largest) {
  const std::string where = place(*counted.front().item, "contains");
  if (counted.size() > kMaxCounted) fail(ErrorCode::unsupported, "{}: more than {} such conditions", where, kMaxCounted);
  const bool limited = largest != UINT64_MAX;
  // The first element has no comma before it.
  std::vector<uint64_t> ends = {limited ? largest : std::max({prefix, smallest, uint64_t{1}})};
  for (const Counted& one : counted) ends.push_back(one.most != UINT64_MAX ? std::max(one.most, one.least) : one.least);
  uint64_t states = 1;
  for (const uint64_t end : ends) {
    states = end >= kMaxCountedStates ? kMaxCountedStates + 1 : states * (end + 1);
    if (states > kMaxCountedStates) {
      fail(ErrorCode::unsupported, "{}: together with the array's limits it takes more than {} states; make them smaller", where,
           kMaxCountedStates);
    }
  }
  std::map<std::pair<uint64_t, uint32_t>, ExpressionId> elements;  // by index and conditions
  const auto element = [&](uint64_t index, uint32_t fitting) {
    const std::pair<uint64_t, uint32_t> key(std::min<uint64_t>(index, prefix), fitting);
    if (const auto known = elements.find(key); known != elements.end()) return known->second;
    const Items items = schemas_of_element(flat, key.first, counted, fitting);
    return elements[key] = items.empty() ? rules_.value() : compile(items);
  };
  std::vector<ExpressionId> rules(states);
  std::vector<uint64_t> state(ends.size());
  // From the last state back, since each leads to itself or later ones.
  for (uint64_t number = states; number-- > 0;) {
    uint64_t rest = number;
    for (size_t place = ends.size(); place-- > 0; rest /= ends[place] + 1) state[place] = rest % (ends[place] + 1);
    const RuleId rule = grammar_.add_rule("elements");
    rules[number] = grammar_.rule(rule);
    std::vector<ExpressionId> choices;
    bool complete = state[0] >= smallest;
    for (size_t index = 0; index < counted.size(); ++index) complete = complete && state[index + 1] >= counted[index].least;
    if (complete) choices.push_back(grammar_.empty());
    for (uint32_t fitting = 0; fitting < 1U << counted.size() && !(limited && state[0] == largest); ++fitting) {
      uint64_t next = std::min(state[0] + 1, ends[0]);
      bool possible = true;
      for (size_t index = 0; index < counted.size(); ++index) {
        const uint64_t fit = state[index + 1] + (fitting >> index & 1);
        possible = possible && fit <= counted[index].most;
        next = next * (ends[index + 1] + 1) + std::min(fit, ends[index + 1]);
      }
      if (!possible) continue;
      const ExpressionId one = element(state[0], fitting);
      choices.push_back(grammar_.sequence({state[0] == 0 ? grammar_.empty() : rules_.comma(), one, rules[next]}));
    }
    grammar_.define(rule, grammar_.choice(std::move(choices)));
    rules[number] = grammar_.rule(rule);
  }
  return rules_.enclosed('[', rules.front(), ']');
}

// Elements that all differ: each of the values that fit, once at most.
ExpressionId SchemaCompiler::compile_set(const Items& flat, size_t prefix, uint64_t smallest, uint64_t largest) {
  const auto refuse = [&](const char* why) {
    const auto item = std::find_if(flat.begin(), flat.end(), [&](const Item& one) { return is_true(keyword(one, "uniqueItems")); });
    fail(ErrorCode::unsupported, "{}: elements that all differ can be enforced {}", place(*item, "uniqueItems"), why);
  };
  if (prefix > 0 || !counted_of(flat).empty()) refuse("without prefixItems and contains alone");
  const std::optional<std::vector<ExpressionId>> values = listed_values(schemas_of_element(flat, 0, {}, 0));
  if (!values || values->size() > kMaxGroupMembers) refuse("where they are of an enum of at most 62 values alone");
  if (smallest > values->size()) return grammar_.never();
  MemberGroup group;
  group.members = *values;
  group.other = grammar_.never();
  group.separator = rules_.comma();
  group.smallest = static_cast<uint32_t>(smallest);
  group.largest = static_cast<uint32_t>(std::min<uint64_t>(largest, values->size()));
  const ExpressionId inside = values->empty() ? grammar_.empty() : grammar_.group(std::move(group));
  return rules_.enclosed('[', inside, ']');
}

std::optional<std::vector<ExpressionId>> SchemaCompiler::listed_values(const Items& items) {
  static const SchemaJson kFew = {nullptr, true, false};
  Items flat;
  std::vector<ExpressionId> expressions;
  if (!flatten(items, flat)) return expressions;
  if (flat.empty()) return std::nullopt;
  std::vector<const SchemaJson*> values = values_of(flat);
  const bool lists = std::any_of(flat.begin(), flat.end(),
                                 [&](const Item& item) { return keyword(item, "enum") != nullptr || keyword(item, "const") != nullptr; });
  if (!lists) {
    if ((types_of(flat) & ~uint32_t{Type::null | Type::boolean}) != 0) return std::nullopt;
    for (const SchemaJson& value : kFew) values.push_back(&value);
  }
  std::vector<bool> fits;
  if (!fits_rest(flat, values, fits)) return expressions;
  for (size_t index = 0; index < values.size(); ++index) {
    if (fits[index]) expressions.push_back(value_expression(*values[index]));
  }
  return expressions;
}

}  // namespace wick
