#include "wick/text/tokenizer/byte_automaton.h"

namespace wick {
namespace {

struct Edge {
  ByteAutomaton::Node parent = ByteAutomaton::kRoot;
  uint32_t depth = 0;  // of the node that it leads to
  unsigned char byte = 0;
};

// The edge to each node.
std::vector<Edge> edges_of(const ByteTrie& trie) {
  std::vector<Edge> edges(trie.nodes());
  trie.for_each_edge([&](ByteTrie::Node parent, unsigned char byte, ByteTrie::Node node) {
    edges[node].parent = parent;
    edges[node].byte = byte;
  });
  // A node is numbered after its parent.
  for (size_t node = 1; node < edges.size(); ++node) edges[node].depth = edges[edges[node].parent].depth + 1;
  return edges;
}

// The nodes by their depth: a counting sort.
std::vector<ByteAutomaton::Node> by_depth(const std::vector<Edge>& edges) {
  std::vector<size_t> places;
  for (const Edge& edge : edges) {
    if (edge.depth + 1 >= places.size()) places.resize(edge.depth + 2);
    ++places[edge.depth + 1];
  }
  for (size_t depth = 1; depth < places.size(); ++depth) places[depth] += places[depth - 1];
  std::vector<ByteAutomaton::Node> order(edges.size());
  for (ByteAutomaton::Node node = 0; node < edges.size(); ++node) order[places[edges[node].depth]++] = node;
  return order;
}

}  // namespace

void ByteAutomaton::connect(const std::function<void(Node node, uint32_t depth)>& visit) {
  const std::vector<Edge> edges = edges_of(trie_);
  fallbacks_.assign(edges.size(), kRoot);
  for (const Node node : by_depth(edges)) {
    if (node == kRoot) continue;
    const Edge& edge = edges[node];
    if (edge.depth > 1) fallbacks_[node] = step(fallbacks_[edge.parent], edge.byte);
    visit(node, edge.depth);
  }
}

}  // namespace wick
