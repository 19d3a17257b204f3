// A Dfa is an automaton over bytes whose other edges, labels, stand for what its owner knows: calls of rules, tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace wick {

struct ByteEdge {
  uint8_t first = 0;
  uint8_t last = 0;
  uint32_t target = 0;
};

struct LabelEdge {
  uint32_t label = 0;
  uint32_t target = 0;
};

struct DfaNode {
  std::vector<ByteEdge> bytes;
  std::vector<LabelEdge> labels;
  bool final = false;
};

// Node 0 is the start; without nodes nothing is accepted. Byte edges of a node overlap only where an automaton was kept nondeterministic
// because its deterministic form would be too large.
struct Dfa {
  std::vector<DfaNode> nodes;

  [[nodiscard]] std::optional<uint32_t> step(uint32_t node, uint8_t byte) const;
  [[nodiscard]] bool accepts(std::string_view text) const;
  // Whether no text is accepted.
  [[nodiscard]] bool empty() const;
};

// Intersection of deterministic automata without labels. Nodes that lead to no end are left out. Adds the number of visited node pairs to
// `visited`. Errors: unsupported, naming `place`, if they are too many.
[[nodiscard]] Dfa intersect(const Dfa& left, const Dfa& right, std::string_view place, size_t* visited = nullptr);
// Texts that `left` accepts and `right` does not.
[[nodiscard]] Dfa subtract(const Dfa& left, const Dfa& right, std::string_view place, size_t* visited = nullptr);

}  // namespace wick
