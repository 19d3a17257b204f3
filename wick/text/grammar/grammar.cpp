#include "wick/text/grammar/grammar.h"

#include <algorithm>
#include <utility>

#include "wick/base/fail.h"

namespace wick {
namespace {

// Beyond this a grammar was made to exhaust memory.
constexpr size_t kMaxExpressions = 2'000'000;

}  // namespace

Grammar::Grammar() {
  add({.kind = Expression::Kind::never});
  add({.kind = Expression::Kind::literal});
}

ExpressionId Grammar::add(Expression expression) {
  if (expressions_.size() >= kMaxExpressions) {
    fail(ErrorCode::unsupported, "the grammar has more than {} expressions; make it smaller", kMaxExpressions);
  }
  expressions_.push_back(std::move(expression));
  return static_cast<ExpressionId>(expressions_.size() - 1);
}

ExpressionId Grammar::literal(std::string_view text) {
  if (text.empty()) return empty();
  return add({.kind = Expression::Kind::literal, .text = std::string(text)});
}

ExpressionId Grammar::bytes(uint8_t first, uint8_t last) {
  if (first > last) return never();
  return add({.kind = Expression::Kind::bytes, .first = first, .last = last});
}

ExpressionId Grammar::characters(const CodePointSet& set) {
  const auto known = characters_.find(set.ranges());
  if (known != characters_.end()) return known->second;
  std::vector<ExpressionId> choices;
  for (const auto& [first, last] : set.ranges()) {
    for (const Utf8Sequence& encoded : utf8_sequences(first, last)) {
      std::vector<ExpressionId> parts;
      for (size_t index = 0; index < encoded.length; ++index)
        parts.push_back(bytes(encoded.bytes[index].first, encoded.bytes[index].second));
      choices.push_back(sequence(std::move(parts)));
    }
  }
  const ExpressionId result = choice(std::move(choices));
  characters_.emplace(set.ranges(), result);
  return result;
}

ExpressionId Grammar::sequence(std::vector<ExpressionId> children) {
  if (std::find(children.begin(), children.end(), never()) != children.end()) return never();
  std::erase(children, empty());
  if (children.empty()) return empty();
  if (children.size() == 1) return children.front();
  return add({.kind = Expression::Kind::sequence, .children = std::move(children)});
}

ExpressionId Grammar::choice(std::vector<ExpressionId> children) {
  std::erase(children, never());
  children.erase(std::unique(children.begin(), children.end()), children.end());
  if (children.empty()) return never();
  if (children.size() == 1) return children.front();
  return add({.kind = Expression::Kind::choice, .children = std::move(children)});
}

ExpressionId Grammar::repeat(ExpressionId child, uint32_t smallest, uint32_t largest) {
  if (smallest > largest) return never();
  if (largest == 0 || child == empty()) return empty();
  if (child == never()) return smallest == 0 ? empty() : never();
  if (smallest == 1 && largest == 1) return child;
  return add({.kind = Expression::Kind::repeat, .smallest = smallest, .largest = largest, .children = {child}});
}

ExpressionId Grammar::rule(RuleId id) {
  const Rule& rule = rules_[id];
  if (rule.defined && (rule.body == never() || rule.body == empty())) return rule.body;
  if (!rule.reference) rules_[id].reference = add({.kind = Expression::Kind::rule, .index = id});
  return *rules_[id].reference;
}

ExpressionId Grammar::token(int32_t id) { return add({.kind = Expression::Kind::token, .index = static_cast<uint32_t>(id)}); }

ExpressionId Grammar::dfa(std::shared_ptr<const Dfa> automaton) {
  dfas_.push_back(std::move(automaton));
  return add({.kind = Expression::Kind::dfa, .index = static_cast<uint32_t>(dfas_.size() - 1)});
}

ExpressionId Grammar::group(MemberGroup members) {
  groups_.push_back(std::move(members));
  return add({.kind = Expression::Kind::group, .index = static_cast<uint32_t>(groups_.size() - 1)});
}

ExpressionId Grammar::member(uint32_t group, uint32_t index) {
  return add({.kind = Expression::Kind::member, .index = group, .smallest = index});
}

ExpressionId Grammar::chain(std::vector<ExpressionId> members, const std::vector<bool>& required, ExpressionId other,
                            ExpressionId separator) {
  if (members.empty() && is_never(other)) return empty();
  std::string flags;
  for (const bool must : required) flags += must ? 'r' : '-';
  members.push_back(other);
  members.push_back(separator);
  return add({.kind = Expression::Kind::chain, .text = std::move(flags), .children = std::move(members)});
}

RuleId Grammar::add_rule(std::string name, bool keep) {
  rules_.push_back({.name = std::move(name), .keep = keep});
  return static_cast<RuleId>(rules_.size() - 1);
}

void Grammar::define(RuleId id, ExpressionId body) {
  rules_[id].body = body;
  rules_[id].defined = true;
}

}  // namespace wick
