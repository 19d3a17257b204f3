// A ByteTrie maps byte strings to numbers and finds the strings that begin at an offset of a text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "wick/base/hash.h"

namespace wick {

class ByteTrie {
 public:
  using Node = uint32_t;
  static constexpr Node kRoot = 0;
  static constexpr Node kNoNode = UINT32_MAX;

  struct Match {
    size_t length = 0;
    int32_t value = 0;
  };

  ByteTrie();

  // `value` is at least 0; of equal texts the first stays. An empty text is not taken.
  void insert(std::string_view text, int32_t value);
  [[nodiscard]] bool empty() const noexcept { return values_.size() == 1; }

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

  // The longest string that `text` begins with.
  [[nodiscard]] std::optional<Match> longest(std::string_view text) const noexcept;

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
