// A Grammar is a set of rules over bytes: what schemas, patterns and GBNF texts are read into, and an Automaton is compiled from.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/text/grammar/code_points.h"

namespace wick {

struct Dfa;

using ExpressionId = uint32_t;
using RuleId = uint32_t;
inline constexpr uint32_t kUnlimited = UINT32_MAX;

// Members in any order, with a separator between them: each of `members` once at most, `other` as often as one likes.
struct MemberGroup {
  std::vector<ExpressionId> members;
  uint64_t required = 0;   // bit i: members[i] must be there
  ExpressionId other = 0;  // never() where there is none
  ExpressionId separator = 0;
  uint32_t smallest = 0;          // different members at least; all that `other` writes counts as one
  uint32_t largest = kUnlimited;  // members at most
};
inline constexpr size_t kMaxGroupMembers = 62;

struct Expression {
  enum class Kind : uint8_t {
    never,     // no text
    literal,   // `text`, maybe empty
    bytes,     // one byte from `first` to `last`
    sequence,  // children one after another
    choice,    // one of the children
    repeat,    // children[0], `smallest` to `largest` times
    rule,      // what the rule `index` says
    token,     // the token with the number `index`, whatever its text is
    dfa,       // what dfas[index] accepts
    group,     // groups[index]
    member,    // where a group's names lead to the rest of its member `smallest`; `index` is the Automaton's number of the group
    chain,     // members in their order: children but the last two, which are what may follow again and again, and the separator
  };
  Kind kind = Kind::never;
  uint8_t first = 0;
  uint8_t last = 0;
  uint32_t index = 0;
  uint32_t smallest = 0;
  uint32_t largest = 0;
  std::string text = {};  // chain: a letter for each member, 'r' where it must be there
  std::vector<ExpressionId> children = {};
};

class Grammar {
 public:
  struct Rule {
    std::string name;
    ExpressionId body = 0;
    bool defined = false;
    bool keep = false;                           // a rule of its own in the automaton, so that all uses share what is cached of it
    std::optional<ExpressionId> reference = {};  // the expression that refers to it, once there is one
  };

  Grammar();

  [[nodiscard]] ExpressionId never() const noexcept { return 0; }
  [[nodiscard]] ExpressionId empty() const noexcept { return 1; }
  ExpressionId literal(std::string_view text);
  ExpressionId bytes(uint8_t first, uint8_t last);
  // In UTF-8.
  ExpressionId characters(const CodePointSet& set);
  ExpressionId sequence(std::vector<ExpressionId> children);
  ExpressionId choice(std::vector<ExpressionId> children);
  ExpressionId repeat(ExpressionId child, uint32_t smallest, uint32_t largest);
  ExpressionId optional(ExpressionId child) { return choice({empty(), child}); }
  ExpressionId rule(RuleId id);
  ExpressionId token(int32_t id);
  ExpressionId dfa(std::shared_ptr<const Dfa> automaton);
  ExpressionId group(MemberGroup members);
  // For an Automaton, which numbers its groups.
  ExpressionId member(uint32_t group, uint32_t index);
  // Members in this order, each once at most, then `other` as often as one likes, with the separator between two; it may be empty where no
  // member is required. No member is never().
  ExpressionId chain(std::vector<ExpressionId> members, const std::vector<bool>& required, ExpressionId other, ExpressionId separator);

  RuleId add_rule(std::string name, bool keep = false);
  void define(RuleId id, ExpressionId body);

  [[nodiscard]] const Expression& at(ExpressionId id) const { return expressions_[id]; }
  [[nodiscard]] const std::vector<Rule>& rules() const noexcept { return rules_; }
  [[nodiscard]] const Dfa& dfa_at(uint32_t index) const { return *dfas_[index]; }
  [[nodiscard]] const MemberGroup& group_at(uint32_t index) const { return groups_[index]; }
  // False where the expression, as far as it is known by now, has no text.
  [[nodiscard]] bool is_never(ExpressionId id) const { return id == never(); }
  [[nodiscard]] size_t size() const noexcept { return expressions_.size(); }

 private:
  ExpressionId add(Expression expression);

  std::deque<Expression> expressions_;  // references stay valid while the grammar grows
  std::vector<Rule> rules_;
  std::vector<std::shared_ptr<const Dfa>> dfas_;
  std::vector<MemberGroup> groups_;
  std::map<std::vector<CodePointSet::Range>, ExpressionId> characters_;
};

}  // namespace wick
