// RuleFacts is what the compiler of a grammar knows of its rules before it builds them: recursion, emptiness, size.
#pragma once

#include <cstdint>
#include <vector>

#include "wick/text/grammar/grammar.h"

namespace wick {

class RuleFacts {
 public:
  explicit RuleFacts(const Grammar& grammar, ExpressionId root);

  [[nodiscard]] bool is_inlined(RuleId rule) const { return rules_[rule].inlined; }
  [[nodiscard]] bool is_nullable(ExpressionId expression) const;
  // NFA states that the expression needs, about; not exact.
  [[nodiscard]] size_t size_of(ExpressionId expression) const;
  // Bytes of its longest text; kUnlimited also where it is not worth to find out.
  [[nodiscard]] uint32_t longest_of(ExpressionId expression) const;
  // Whether a repetition is written out as copies of its child.
  [[nodiscard]] bool is_copied(const Expression& repeat) const;

 private:
  struct Facts {
    bool reached = false;
    bool recursive = false;
    bool inlined = false;
    bool nullable = false;
    size_t size = 1;
    size_t uses = 0;
    uint32_t longest = kUnlimited;
  };

  void collect_rules(ExpressionId expression, std::vector<RuleId>& rules) const;
  // Tarjan's strongly connected components: callees come before callers.
  void find_components(RuleId first);
  void finish_component(const std::vector<RuleId>& members);
  void find_nullable();

  const Grammar& grammar_;
  std::vector<Facts> rules_;
  std::vector<std::vector<RuleId>> callees_;
  std::vector<RuleId> order_;  // callees first
  std::vector<uint32_t> number_;
  std::vector<uint32_t> low_;
  std::vector<RuleId> stack_;
  std::vector<bool> on_stack_;
  uint32_t next_number_ = 1;
};

}  // namespace wick
