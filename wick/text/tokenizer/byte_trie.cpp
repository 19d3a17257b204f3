#include "wick/text/tokenizer/byte_trie.h"

#include <utility>

namespace wick {

ByteTrie::ByteTrie() : first_(256, kNoNode), edges_(size_t{1} << bits_), mask_(edges_.size() - 1) {}

void ByteTrie::insert(std::string_view text, int32_t value) {
  if (text.empty()) return;
  Node node = kRoot;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    Node next = child(node, byte);
    if (next == kNoNode) {
      next = static_cast<Node>(values_.size());
      values_.push_back(-1);
      if (node == kRoot) {
        first_[byte] = next;
      } else {
        if (2 * (edge_count_ + 1) > edges_.size()) grow();
        const uint64_t key = (uint64_t{node} << 8) | byte;
        size_t slot = slot_of(key);
        while (edges_[slot].node != kNoNode) slot = (slot + 1) & mask_;
        edges_[slot] = {key, next};
        ++edge_count_;
      }
    }
    node = next;
  }
  if (values_[node] < 0) values_[node] = value;
}

void ByteTrie::grow() {
  std::vector<Edge> old = std::exchange(edges_, std::vector<Edge>(2 * edges_.size()));
  ++bits_;
  mask_ = edges_.size() - 1;
  for (const Edge& edge : old) {
    if (edge.node == kNoNode) continue;
    size_t slot = slot_of(edge.key);
    while (edges_[slot].node != kNoNode) slot = (slot + 1) & mask_;
    edges_[slot] = edge;
  }
}

}  // namespace wick
