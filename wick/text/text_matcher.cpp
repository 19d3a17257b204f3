#include "wick/text/text_matcher.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace wick {
namespace {

// Matches are kept for so many bytes at a time, and for four times the longest text at least: each block is searched together with as
// many bytes after it as the longest text has.
constexpr size_t kBlock = size_t{1} << 14;

}  // namespace

TextMatcher::TextMatcher(std::span<const Entry> entries) {
  for (const Entry& entry : entries) {
    reversed_.insert(std::string(entry.text.rbegin(), entry.text.rend()), entry.value);
    longest_ = std::max(longest_, entry.text.size());
  }
  connect();
}

void TextMatcher::connect() {
  struct Edge {
    ByteTrie::Node parent = ByteTrie::kRoot;
    unsigned char byte = 0;
    uint32_t depth = 0;
  };
  std::vector<Edge> edges(reversed_.nodes());  // to each node
  reversed_.for_each_edge([&](ByteTrie::Node parent, unsigned char byte, ByteTrie::Node node) { edges[node] = {parent, byte}; });
  // A node is numbered after its parent.
  for (size_t node = 1; node < edges.size(); ++node) edges[node].depth = edges[edges[node].parent].depth + 1;
  std::vector<ByteTrie::Node> order(edges.size());
  std::iota(order.begin(), order.end(), ByteTrie::kRoot);
  std::stable_sort(order.begin(), order.end(), [&](auto left, auto right) { return edges[left].depth < edges[right].depth; });
  states_.resize(edges.size());
  for (const ByteTrie::Node node : order) {
    const Edge& edge = edges[node];
    State& state = states_[node];
    if (edge.depth > 1) state.fallback = step(states_[edge.parent].fallback, edge.byte);
    if (reversed_.value(node) >= 0) {
      state.length = edge.depth;
      state.value = reversed_.value(node);
    } else {
      state.length = states_[state.fallback].length;
      state.value = states_[state.fallback].value;
    }
  }
}

ByteTrie::Node TextMatcher::step(ByteTrie::Node node, unsigned char byte) const noexcept {
  ByteTrie::Node next = reversed_.child(node, byte);
  while (next == ByteTrie::kNoNode && node != ByteTrie::kRoot) {
    node = states_[node].fallback;
    next = reversed_.child(node, byte);
  }
  return next == ByteTrie::kNoNode ? ByteTrie::kRoot : next;
}

// Adds the matches that begin at offsets from `begin` to `end` - 1, the last one first.
void TextMatcher::search(std::string_view text, size_t begin, size_t end, std::vector<Match>& matches) const {
  ByteTrie::Node node = ByteTrie::kRoot;
  for (size_t offset = std::min(text.size(), end + longest_); offset-- > begin;) {
    node = step(node, static_cast<unsigned char>(text[offset]));
    const State& state = states_[node];
    if (state.length > 0 && offset < end) matches.push_back({offset, state.length, state.value});
  }
}

std::optional<TextMatcher::Match> TextMatcher::Search::next(size_t offset) {
  if (matcher_.empty()) return std::nullopt;
  while (true) {
    while (!matches_.empty() && matches_.back().begin < offset) matches_.pop_back();
    if (!matches_.empty()) return matches_.back();
    const size_t begin = std::max(searched_, offset);
    if (begin >= text_.size()) return std::nullopt;
    searched_ = begin + std::min(text_.size() - begin, std::max(kBlock, 4 * matcher_.longest_));
    matcher_.search(text_, begin, searched_, matches_);
  }
}

std::optional<TextMatcher::Match> TextMatcher::Search::at(size_t offset) {
  const std::optional<Match> match = next(offset);
  return match && match->begin == offset ? match : std::nullopt;
}

}  // namespace wick
