// A ByteTrie maps byte strings to numbers and is walked byte by byte.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "wick/base/hash.h"

namespace wick {

class ByteTrie {
 public:
  using Node = uint32_t;
  static constexpr Node kRoot = 0;
  static constexpr Node kNoNode = UINT32_MAX;

  ByteTrie();

  // `value` is at least 0; of equal texts the first stays. An empty text is not taken.
  void insert(std::string_view text, int32_t value);
  [[nodiscard]] bool empty() const noexcept { return values_.size() == 1; }
  // Numbered from the root on, each after its parent.
  [[nodiscard]] size_t nodes() const noexcept { return values_.size(); }

  [[nodiscard]] Node child(Node node, unsigned char byte) const noexcept {
    if (node == kRoot) return first_[byte];
    const uint64_t key = (uint64_t{node} << 8) | byte;
    for (size_t slot = slot_of(key);; slot = (slot + 1) & mask_) {
      if (edges_[slot].node == kNoNode) return kNoNode;
      if (edges_[slot].key == key) return edges_[slot].node;
    }
  }
  // -1 where no text ends.
  [[nodiscard]] int32_t value(Node node) const noexcept { return values_[node]; }

  // Calls visit(parent, byte, child) for each edge, in any order.
  template <class Visit>
  void for_each_edge(const Visit& visit) const {
    for (unsigned byte = 0; byte < first_.size(); ++byte) {
      if (first_[byte] != kNoNode) visit(kRoot, static_cast<unsigned char>(byte), first_[byte]);
    }
    for (const Edge& edge : edges_) {
      if (edge.node != kNoNode) visit(static_cast<Node>(edge.key >> 8), static_cast<unsigned char>(edge.key & 0xFF), edge.node);
    }
  }

 private:
  struct Edge {
    uint64_t key = 0;
    Node node = kNoNode;
  };

  [[nodiscard]] size_t slot_of(uint64_t key) const noexcept { return keyed_slot(key, bits_, key_); }
  void grow();

  std::vector<int32_t> values_ = {-1};
  std::vector<Node> first_;  // the root's children
  unsigned bits_ = 6;
  std::vector<Edge> edges_;  // of all other nodes: open addressing, 2^bits_
  size_t edge_count_ = 0;
  size_t mask_ = 0;
  HashKey key_ = process_hash_key();
};

}  // namespace wick
