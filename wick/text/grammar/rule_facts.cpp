#include "wick/text/grammar/rule_facts.h"

#include <algorithm>

#include "wick/text/grammar/dfa.h"

namespace wick {
namespace {

// Rules up to this size become part of the rules that use them, and repetitions are written out.
constexpr size_t kSmallRule = 40;
constexpr size_t kLargestSingleUse = 4000;
constexpr size_t kLargestCopies = 96;
constexpr size_t kHuge = size_t{1} << 40;

uint32_t saturated_sum(uint32_t left, uint32_t right) {
  const uint64_t sum = uint64_t{left} + right;
  return sum >= kUnlimited ? kUnlimited : static_cast<uint32_t>(sum);
}

}  // namespace

RuleFacts::RuleFacts(const Grammar& grammar, ExpressionId root) : grammar_(grammar) {
  const size_t count = grammar.rules().size();
  rules_.resize(count);
  callees_.resize(count);
  number_.resize(count, 0);
  low_.resize(count, 0);
  on_stack_.resize(count, false);
  std::vector<RuleId> roots;
  collect_rules(root, roots);
  for (const RuleId rule : roots) {
    ++rules_[rule].uses;
    if (number_[rule] == 0) find_components(rule);
  }
  find_nullable();
}

void RuleFacts::collect_rules(ExpressionId id, std::vector<RuleId>& rules) const {
  const Expression& expression = grammar_.at(id);
  if (expression.kind == Expression::Kind::rule) rules.push_back(expression.index);
  for (const ExpressionId child : expression.children) collect_rules(child, rules);
  if (expression.kind == Expression::Kind::group) {
    const MemberGroup& group = grammar_.group_at(expression.index);
    for (const ExpressionId member : group.members) collect_rules(member, rules);
    collect_rules(group.other, rules);
    collect_rules(group.separator, rules);
  }
}

void RuleFacts::find_components(RuleId first) {
  struct Visit {
    RuleId rule;
    size_t next = 0;
  };
  std::vector<Visit> visits;
  const auto enter = [&](RuleId rule) {
    number_[rule] = low_[rule] = next_number_++;
    rules_[rule].reached = true;
    collect_rules(grammar_.rules()[rule].body, callees_[rule]);
    for (const RuleId callee : callees_[rule]) ++rules_[callee].uses;
    stack_.push_back(rule);
    on_stack_[rule] = true;
    visits.push_back({rule});
  };
  enter(first);
  while (!visits.empty()) {
    const RuleId rule = visits.back().rule;
    if (visits.back().next < callees_[rule].size()) {
      const RuleId callee = callees_[rule][visits.back().next++];
      if (number_[callee] == 0) {
        enter(callee);
      } else if (on_stack_[callee]) {
        low_[rule] = std::min(low_[rule], number_[callee]);
      }
      continue;
    }
    visits.pop_back();
    if (!visits.empty()) low_[visits.back().rule] = std::min(low_[visits.back().rule], low_[rule]);
    if (low_[rule] != number_[rule]) continue;
    std::vector<RuleId> members;
    do {
      members.push_back(stack_.back());
      on_stack_[stack_.back()] = false;
      stack_.pop_back();
    } while (members.back() != rule);
    finish_component(members);
  }
}

void RuleFacts::finish_component(const std::vector<RuleId>& members) {
  for (const RuleId rule : members) {
    Facts& facts = rules_[rule];
    const std::vector<RuleId>& callees = callees_[rule];
    facts.recursive = members.size() > 1 || std::find(callees.begin(), callees.end(), rule) != callees.end();
    order_.push_back(rule);
    if (facts.recursive) continue;
    const ExpressionId body = grammar_.rules()[rule].body;
    facts.size = size_of(body);
    facts.longest = longest_of(body);
    const bool small = facts.size <= kSmallRule || (facts.uses == 1 && facts.size <= kLargestSingleUse);
    facts.inlined = small && !grammar_.rules()[rule].keep;
  }
}

void RuleFacts::find_nullable() {
  for (bool changed = true; changed;) {
    changed = false;
    for (const RuleId rule : order_) {
      if (rules_[rule].nullable || !is_nullable(grammar_.rules()[rule].body)) continue;
      rules_[rule].nullable = true;
      changed = true;
    }
  }
}

bool RuleFacts::is_nullable(ExpressionId id) const {
  const Expression& expression = grammar_.at(id);
  const auto nullable = [&](ExpressionId child) { return is_nullable(child); };
  switch (expression.kind) {
    case Expression::Kind::literal: return expression.text.empty();
    case Expression::Kind::sequence: return std::all_of(expression.children.begin(), expression.children.end(), nullable);
    case Expression::Kind::choice: return std::any_of(expression.children.begin(), expression.children.end(), nullable);
    case Expression::Kind::repeat: return expression.smallest == 0 || is_nullable(expression.children.front());
    case Expression::Kind::rule: return rules_[expression.index].nullable;
    case Expression::Kind::dfa: {
      const Dfa& dfa = grammar_.dfa_at(expression.index);
      return !dfa.nodes.empty() && dfa.nodes.front().final;
    }
    case Expression::Kind::group: {
      const MemberGroup& group = grammar_.group_at(expression.index);
      return group.required == 0 && group.smallest == 0;
    }
    case Expression::Kind::chain: return expression.text.find('r') == std::string::npos;
    case Expression::Kind::never:
    case Expression::Kind::bytes:
    case Expression::Kind::member:
    case Expression::Kind::token: return false;
  }
  return false;
}

size_t RuleFacts::size_of(ExpressionId id) const {
  const Expression& expression = grammar_.at(id);
  switch (expression.kind) {
    case Expression::Kind::literal: return expression.text.size();
    case Expression::Kind::sequence:
    case Expression::Kind::choice:
    case Expression::Kind::chain: {
      size_t sum = 1;
      for (const ExpressionId child : expression.children) sum = std::min(kHuge, sum + size_of(child));
      return sum;
    }
    case Expression::Kind::repeat: {
      const size_t child = size_of(expression.children.front());
      if (expression.largest == kUnlimited) return std::min(kHuge, child * (1 + std::min<size_t>(expression.smallest, kLargestCopies)) + 2);
      const size_t copies = child * expression.largest;
      return copies <= kLargestCopies ? copies : 2;
    }
    case Expression::Kind::rule: return rules_[expression.index].inlined ? rules_[expression.index].size : 1;
    case Expression::Kind::dfa: return grammar_.dfa_at(expression.index).nodes.size() + 1;
    case Expression::Kind::never:
    case Expression::Kind::bytes:
    case Expression::Kind::token:
    case Expression::Kind::member:
    case Expression::Kind::group: return 1;
  }
  return 1;
}

uint32_t RuleFacts::longest_of(ExpressionId id) const {
  const Expression& expression = grammar_.at(id);
  switch (expression.kind) {
    case Expression::Kind::literal: return static_cast<uint32_t>(expression.text.size());
    case Expression::Kind::bytes: return 1;
    case Expression::Kind::sequence: {
      uint32_t sum = 0;
      for (const ExpressionId child : expression.children) sum = saturated_sum(sum, longest_of(child));
      return sum;
    }
    case Expression::Kind::choice: {
      uint32_t longest = 0;
      for (const ExpressionId child : expression.children) longest = std::max(longest, longest_of(child));
      return longest;
    }
    case Expression::Kind::repeat: {
      if (expression.largest == kUnlimited || !is_copied(expression)) return kUnlimited;
      const uint64_t product = uint64_t{longest_of(expression.children.front())} * expression.largest;
      return product >= kUnlimited ? kUnlimited : static_cast<uint32_t>(product);
    }
    case Expression::Kind::rule: return rules_[expression.index].inlined ? rules_[expression.index].longest : kUnlimited;
    case Expression::Kind::never:
    case Expression::Kind::dfa:
    case Expression::Kind::token:
    case Expression::Kind::chain:
    case Expression::Kind::member:
    case Expression::Kind::group: return kUnlimited;
  }
  return kUnlimited;
}

bool RuleFacts::is_copied(const Expression& repeat) const {
  const size_t child = size_of(repeat.children.front());
  if (repeat.largest == kUnlimited) return repeat.smallest <= 1 || child * repeat.smallest <= kLargestCopies;
  return repeat.largest == 1 || child * repeat.largest <= kLargestCopies;
}

}  // namespace wick
