// An Automaton is a compiled Grammar: nodes with byte edges, and calls, which put a frame on a stack. Immutable.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/text/grammar/dfa.h"
#include "wick/text/grammar/grammar.h"

namespace wick {

// An edge that runs other nodes, from a start to an end, before it arrives at its target.
struct AutomatonCall {
  // member: begins a member of the group on top of the stack, once its name was read.
  enum class Kind : uint8_t { rule, repeat, group, member };
  Kind kind = Kind::rule;
  bool tail = false;   // nothing is left to do at the target but to return: no frame is needed
  bool light = false;  // a repetition of a few bytes, such as one character: its count belongs to the local state
  uint32_t start = 0;  // all but group
  uint32_t target = 0;
  uint32_t smallest = 0;  // repeat
  uint32_t largest = 0;
  uint32_t group = 0;  // group: index into groups; member: its number
};

struct AutomatonGroup {
  static constexpr uint32_t kNoStart = UINT32_MAX;
  struct Start {
    uint32_t first = kNoStart;  // where no member was written yet,
    uint32_t next = kNoStart;   // and where a separator comes first
  };
  Start names;  // of all members, read side by side
  Start other;
  uint64_t required = 0;
  uint32_t smallest = 0;
  uint32_t largest = 0;
};

struct AutomatonNode {
  uint32_t bytes_begin = 0;
  uint32_t bytes_end = 0;
  uint32_t calls_begin = 0;
  uint32_t calls_end = 0;
  uint32_t tokens_begin = 0;
  uint32_t tokens_end = 0;
  bool final = false;
  uint64_t names =
      0;  // bit i: the name of its group's member i may end from here on; only in a group's names, where the top frame is the group's

  // Whether it is more than a place to return from.
  [[nodiscard]] bool reads() const noexcept { return bytes_begin != bytes_end || tokens_begin != tokens_end; }
};

struct TokenEdge {
  int32_t token = 0;
  uint32_t target = 0;
};

class Automaton {
 public:
  // Errors: invalid_argument if no text fits, or a rule begins with itself; unsupported, if the grammar is too large.
  Automaton(Grammar grammar, ExpressionId root);

  [[nodiscard]] uint32_t start() const noexcept { return start_; }
  [[nodiscard]] bool accepts_empty() const noexcept { return accepts_empty_; }
  [[nodiscard]] const AutomatonNode& node(uint32_t index) const { return nodes_[index]; }
  [[nodiscard]] std::span<const ByteEdge> bytes(const AutomatonNode& node) const {
    return std::span(bytes_).subspan(node.bytes_begin, node.bytes_end - node.bytes_begin);
  }
  [[nodiscard]] std::span<const TokenEdge> tokens(const AutomatonNode& node) const {
    return std::span(tokens_).subspan(node.tokens_begin, node.tokens_end - node.tokens_begin);
  }
  [[nodiscard]] const AutomatonCall& call(uint32_t index) const { return calls_[index]; }
  [[nodiscard]] const AutomatonGroup& group(uint32_t index) const { return groups_[index]; }
  [[nodiscard]] size_t node_count() const noexcept { return nodes_.size(); }
  // The rule that a node belongs to: a name of a grammar, a JSON pointer into a schema, or "root" for what is in no rule of its own.
  [[nodiscard]] std::string_view rule_of(uint32_t node) const;
  [[nodiscard]] size_t bytes() const noexcept;

  // Bytes of one class are treated alike by every node.
  [[nodiscard]] uint8_t byte_class(uint8_t byte) const noexcept { return classes_[byte]; }
  [[nodiscard]] uint32_t class_count() const noexcept { return class_count_; }

 private:
  friend class AutomatonCompiler;

  std::vector<AutomatonNode> nodes_;
  std::vector<ByteEdge> bytes_;
  std::vector<AutomatonCall> calls_;
  std::vector<TokenEdge> tokens_;
  std::vector<AutomatonGroup> groups_;
  std::vector<std::pair<uint32_t, std::string>> rules_;  // the first node of each, ascending
  std::array<uint8_t, 256> classes_{};
  uint32_t class_count_ = 1;
  uint32_t start_ = 0;
  bool accepts_empty_ = false;
};

}  // namespace wick
