// A ByteAutomaton maps byte strings to numbers and reads a text once: the automaton of Aho and Corasick (1975).
//
// Its state is a node of a trie: the longest beginning of a string that the bytes read so far end with. A walk along the trie from each
// offset would take the length of the longest string for each byte.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "wick/text/tokenizer/byte_trie.h"

namespace wick {

class ByteAutomaton {
 public:
  using Node = ByteTrie::Node;
  static constexpr Node kRoot = ByteTrie::kRoot;

  // `value` is at least 0; of equal texts the first stays. An empty text is not taken.
  void insert(std::string_view text, int32_t value) { trie_.insert(text, value); }
  // Once all are inserted. Calls visit(node, depth) for each node but the root, after its fallback.
  void connect(const std::function<void(Node node, uint32_t depth)>& visit);

  [[nodiscard]] bool empty() const noexcept { return trie_.empty(); }
  [[nodiscard]] size_t nodes() const noexcept { return trie_.nodes(); }
  // -1 where no text ends.
  [[nodiscard]] int32_t value(Node node) const noexcept { return trie_.value(node); }
  // The longest other beginning of a string that `node` ends with.
  [[nodiscard]] Node fallback(Node node) const noexcept { return fallbacks_[node]; }

  // The state after one more byte. The steps along a text look up at most two nodes a byte.
  [[nodiscard]] Node step(Node node, unsigned char byte) const noexcept {
    Node next = trie_.child(node, byte);
    while (next == ByteTrie::kNoNode && node != kRoot) {
      node = fallbacks_[node];
      next = trie_.child(node, byte);
    }
    return next == ByteTrie::kNoNode ? kRoot : next;
  }

 private:
  ByteTrie trie_;
  std::vector<Node> fallbacks_ = {kRoot};
};

}  // namespace wick
