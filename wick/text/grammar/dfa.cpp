#include "wick/text/grammar/dfa.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/hash.h"

namespace wick {
namespace {

constexpr uint32_t kDead = UINT32_MAX;
constexpr size_t kMaxProductNodes = 50'000;

// Drops nodes from which no end can be reached, and edges to them.
void drop_dead_nodes(Dfa& dfa) {
  const size_t count = dfa.nodes.size();
  // The sources of the edges to a node are sources[begins[node]] to sources[begins[node + 1] - 1].
  std::vector<uint32_t> begins(count + 2);
  std::vector<uint32_t> open;
  std::vector<bool> alive(count, false);
  for (uint32_t node = 0; node < count; ++node) {
    for (const ByteEdge& edge : dfa.nodes[node].bytes) ++begins[edge.target + 2];
    if (!dfa.nodes[node].final) continue;
    alive[node] = true;
    open.push_back(node);
  }
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::vector<uint32_t> sources(begins.back());
  for (uint32_t node = 0; node < count; ++node) {
    for (const ByteEdge& edge : dfa.nodes[node].bytes) sources[begins[edge.target + 1]++] = node;
  }
  while (!open.empty()) {
    const uint32_t node = open.back();
    open.pop_back();
    for (uint32_t index = begins[node]; index < begins[node + 1]; ++index) {
      if (alive[sources[index]]) continue;
      alive[sources[index]] = true;
      open.push_back(sources[index]);
    }
  }
  if (count == 0 || !alive[0]) {
    dfa.nodes.clear();
    return;
  }
  std::vector<uint32_t> renamed(count, kDead);
  std::vector<DfaNode> kept;
  for (uint32_t node = 0; node < count; ++node) {
    if (!alive[node]) continue;
    renamed[node] = static_cast<uint32_t>(kept.size());
    kept.push_back(std::move(dfa.nodes[node]));
  }
  for (DfaNode& node : kept) {
    std::erase_if(node.bytes, [&](const ByteEdge& edge) { return renamed[edge.target] == kDead; });
    for (ByteEdge& edge : node.bytes) edge.target = renamed[edge.target];
  }
  dfa.nodes = std::move(kept);
}

struct PairHash {
  size_t operator()(uint64_t pair) const noexcept { return static_cast<size_t>(split_mix(pair)); }
};

// Runs both side by side; kDead is the state after which `right` accepts nothing.
class Product {
 public:
  Product(const Dfa& left, const Dfa& right, bool negate_right, std::string_view place)
      : left_(left), right_(right), negate_right_(negate_right), place_(place) {}

  Dfa run(size_t* visited) {
    if (left_.nodes.empty() || (right_.nodes.empty() && !negate_right_)) return {};
    node_of(0, right_.nodes.empty() ? kDead : 0);
    for (size_t index = 0; index < pairs_.size(); ++index) expand(index);
    if (visited != nullptr) *visited += pairs_.size();
    drop_dead_nodes(result_);
    return std::move(result_);
  }

 private:
  uint32_t node_of(uint32_t left, uint32_t right) {
    const auto [entry, added] = numbers_.try_emplace((uint64_t{left} << 32) | right, static_cast<uint32_t>(pairs_.size()));
    if (added) {
      if (pairs_.size() >= kMaxProductNodes) {
        fail(ErrorCode::unsupported, "{}: the conditions together need more than {} states; make them simpler", place_, kMaxProductNodes);
      }
      pairs_.emplace_back(left, right);
      const bool right_final = right != kDead && right_.nodes[right].final;
      result_.nodes.push_back({.bytes = {}, .labels = {}, .final = left_.nodes[left].final && right_final != negate_right_});
    }
    return entry->second;
  }

  void expand(size_t index) {
    const auto [left, right] = pairs_[index];
    for (const ByteEdge& edge : left_.nodes[left].bytes) {
      unsigned next = edge.first;
      while (next <= edge.last) {
        // The stretch of bytes from `next` on that `right` treats alike.
        unsigned end = edge.last;
        uint32_t target = kDead;
        if (right != kDead) {
          for (const ByteEdge& other : right_.nodes[right].bytes) {
            if (other.first <= next && next <= other.last) {
              target = other.target;
              end = std::min<unsigned>(end, other.last);
            } else if (other.first > next) {
              end = std::min<unsigned>(end, other.first - 1U);
            }
          }
        }
        if (target != kDead || negate_right_) {
          const uint32_t node = node_of(edge.target, target);
          result_.nodes[index].bytes.push_back({static_cast<uint8_t>(next), static_cast<uint8_t>(end), node});
        }
        next = end + 1;
      }
    }
  }

  const Dfa& left_;
  const Dfa& right_;
  bool negate_right_;
  std::string_view place_;
  std::unordered_map<uint64_t, uint32_t, PairHash> numbers_;  // of pairs
  std::vector<std::pair<uint32_t, uint32_t>> pairs_;
  Dfa result_;
};

}  // namespace

std::optional<uint32_t> Dfa::step(uint32_t node, uint8_t byte) const {
  for (const ByteEdge& edge : nodes[node].bytes) {
    if (edge.first <= byte && byte <= edge.last) return edge.target;
  }
  return std::nullopt;
}

bool Dfa::accepts(std::string_view text) const {
  if (nodes.empty()) return false;
  uint32_t node = 0;
  for (const char byte : text) {
    const std::optional<uint32_t> next = step(node, static_cast<uint8_t>(byte));
    if (!next) return false;
    node = *next;
  }
  return nodes[node].final;
}

bool Dfa::empty() const {
  return std::none_of(nodes.begin(), nodes.end(), [](const DfaNode& node) { return node.final; });
}

Dfa intersect(const Dfa& left, const Dfa& right, std::string_view place, size_t* visited) {
  return Product(left, right, false, place).run(visited);
}
Dfa subtract(const Dfa& left, const Dfa& right, std::string_view place, size_t* visited) {
  return Product(left, right, true, place).run(visited);
}

}  // namespace wick
