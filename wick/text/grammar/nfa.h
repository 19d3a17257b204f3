// An Nfa is what an expression of a Grammar is built into first; determinize() makes a Dfa of it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "wick/text/grammar/dfa.h"
#include "wick/text/grammar/grammar.h"

namespace wick {

struct NfaState {
  std::vector<uint32_t> epsilon;
  std::vector<ByteEdge> bytes;
  std::vector<LabelEdge> labels;
};

struct Nfa {
  std::vector<NfaState> states;
  uint32_t start = 0;
  uint32_t end = 0;
};

// Decides which parts of an expression become labels instead of states.
class NfaLabels {
 public:
  virtual ~NfaLabels() = default;
  struct Label {
    bool used = false;
    bool nullable = false;  // what it stands for may be empty; the label then stands for all of it but that
    uint32_t number = 0;
  };
  // `id` is an expression of the kinds rule, repeat, token, group or member.
  [[nodiscard]] virtual Label label_of(ExpressionId id) = 0;
};

// Errors: unsupported, if it has too many states.
[[nodiscard]] Nfa build_nfa(const Grammar& grammar, ExpressionId expression, NfaLabels& labels);

// Without the empty text if `drop_empty`. Where the deterministic form is much larger than the Nfa, edges overlap instead.
[[nodiscard]] Dfa determinize(const Nfa& nfa, bool drop_empty);

// The automaton of an expression without recursion, tokens and groups. Errors: unsupported, naming `place`, if it is too large.
[[nodiscard]] Dfa regular_dfa(const Grammar& grammar, ExpressionId expression, std::string_view place);

}  // namespace wick
