#include "wick/text/grammar/nfa.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "wick/base/fail.h"

namespace wick {
namespace {

constexpr size_t kMaxStates = 400'000;

class NfaBuilder {
 public:
  NfaBuilder(const Grammar& grammar, NfaLabels& labels) : grammar_(grammar), labels_(labels) {}

  Nfa build(ExpressionId expression) {
    nfa_.start = new_state();
    nfa_.end = add(expression, nfa_.start);
    return std::move(nfa_);
  }

 private:
  uint32_t new_state() {
    if (nfa_.states.size() >= kMaxStates) {
      fail(ErrorCode::unsupported, "a rule or pattern needs more than {} states; make its repetitions smaller", kMaxStates);
    }
    nfa_.states.emplace_back();
    return static_cast<uint32_t>(nfa_.states.size() - 1);
  }
  void epsilon(uint32_t from, uint32_t to) { nfa_.states[from].epsilon.push_back(to); }

  // Adds the expression behind `from`; the state behind it. Never adds an edge that leads to `from`.
  uint32_t add(ExpressionId id, uint32_t from) {
    const Expression& expression = grammar_.at(id);
    switch (expression.kind) {
      case Expression::Kind::never: return new_state();
      case Expression::Kind::literal: return add_literal(expression.text, from);
      case Expression::Kind::bytes: return add_bytes(expression.first, expression.last, from);
      case Expression::Kind::sequence:
        for (const ExpressionId child : expression.children) from = add(child, from);
        return from;
      case Expression::Kind::choice: {
        const uint32_t end = new_state();
        for (const ExpressionId child : expression.children) {
          const uint32_t child_end = add(child, from);
          epsilon(child_end, end);
        }
        return end;
      }
      case Expression::Kind::repeat: return add_repeat(id, from);
      case Expression::Kind::chain: return add_chain(expression, from);
      case Expression::Kind::rule: {
        if (const auto label = labels_.label_of(id); label.used) return add_label(label, from);
        return add(grammar_.rules()[expression.index].body, from);
      }
      case Expression::Kind::token:
      case Expression::Kind::group:
      case Expression::Kind::member: return add_label(labels_.label_of(id), from);
      case Expression::Kind::dfa: return add_dfa(grammar_.dfa_at(expression.index), from);
    }
    return from;
  }

  uint32_t add_literal(std::string_view text, uint32_t from) {
    for (const char letter : text) from = add_bytes(static_cast<uint8_t>(letter), static_cast<uint8_t>(letter), from);
    return from;
  }

  uint32_t add_bytes(uint8_t first, uint8_t last, uint32_t from) {
    const uint32_t end = new_state();
    nfa_.states[from].bytes.push_back({first, last, end});
    return end;
  }

  uint32_t add_label(const NfaLabels::Label& label, uint32_t from) {
    const uint32_t end = new_state();
    nfa_.states[from].labels.push_back({label.number, end});
    if (label.nullable) epsilon(from, end);
    return end;
  }

  uint32_t add_repeat(ExpressionId id, uint32_t from) {
    if (const auto label = labels_.label_of(id); label.used) return add_label(label, from);
    const Expression& expression = grammar_.at(id);
    const ExpressionId child = expression.children.front();
    for (uint32_t index = 0; index < expression.smallest; ++index) from = add(child, from);
    const uint32_t end = new_state();
    if (expression.largest == kUnlimited) {
      const uint32_t loop = new_state();
      epsilon(from, loop);
      epsilon(add(child, loop), loop);
      epsilon(loop, end);
      return end;
    }
    for (uint32_t index = expression.smallest; index < expression.largest; ++index) {
      epsilon(from, end);
      from = add(child, from);
    }
    epsilon(from, end);
    return end;
  }

  // Two states before each member: nothing was written yet, or a separator comes first. Each member is built once.
  uint32_t add_chain(const Expression& expression, uint32_t from) {
    const size_t count = expression.children.size() - 2;
    const ExpressionId other = expression.children[count];
    const ExpressionId separator = expression.children[count + 1];
    uint32_t empty = new_state();
    uint32_t written = new_state();
    epsilon(from, empty);
    for (size_t index = 0; index < count; ++index) {
      const uint32_t before = new_state();
      epsilon(empty, before);
      epsilon(add(separator, written), before);
      const uint32_t next = new_state();
      epsilon(add(expression.children[index], before), next);
      if (expression.text[index] == 'r') {
        empty = new_state();  // which nothing leads to
      } else {
        epsilon(written, next);
      }
      written = next;
    }
    const uint32_t before = new_state();
    const uint32_t end = new_state();
    epsilon(empty, before);
    epsilon(add(separator, written), before);
    epsilon(add(other, before), written);
    epsilon(empty, end);
    epsilon(written, end);
    return end;
  }

  uint32_t add_dfa(const Dfa& dfa, uint32_t from) {
    const uint32_t end = new_state();
    if (dfa.nodes.empty()) return end;
    const auto first = static_cast<uint32_t>(nfa_.states.size());
    for (size_t index = 0; index < dfa.nodes.size(); ++index) new_state();
    for (size_t index = 0; index < dfa.nodes.size(); ++index) {
      NfaState& state = nfa_.states[first + index];
      for (const ByteEdge& edge : dfa.nodes[index].bytes) state.bytes.push_back({edge.first, edge.last, first + edge.target});
      if (dfa.nodes[index].final) state.epsilon.push_back(end);
    }
    epsilon(from, first);
    return end;
  }

  const Grammar& grammar_;
  NfaLabels& labels_;
  Nfa nfa_;
};

struct SetHash {
  size_t operator()(const std::vector<uint32_t>& set) const noexcept {
    uint64_t hash = set.size();
    for (const uint32_t value : set) hash = (hash ^ value) * 0x9E3779B97F4A7C15U;
    return static_cast<size_t>(hash ^ (hash >> 32));
  }
};

class Determinizer {
 public:
  Determinizer(const Nfa& nfa, bool drop_empty) : nfa_(nfa), drop_empty_(drop_empty), seen_(nfa.states.size(), 0) {
    node_budget_ = 1000 + 4 * nfa.states.size();
    work_budget_ = 20'000 + 40 * nfa.states.size();
  }

  Dfa run() {
    // The start is a node of its own: where the empty text is dropped it differs from a node with the same states later on.
    sets_.push_back(closure({nfa_.start}));
    result_.nodes.emplace_back();
    result_.nodes[0].final = !drop_empty_ && has_end(sets_[0]);
    for (size_t index = 0; index < sets_.size(); ++index) {
      expand(index);
      if (sets_.size() > node_budget_ || work_ > work_budget_) return without_epsilon();
    }
    return std::move(result_);
  }

 private:
  using Set = std::vector<uint32_t>;

  [[nodiscard]] bool has_end(const Set& set) const { return std::binary_search(set.begin(), set.end(), nfa_.end); }

  // The states that are reached without a byte and matter: that have edges, or end.
  Set closure(const Set& from) {
    ++stamp_;
    Set result;
    open_ = from;
    for (const uint32_t state : open_) seen_[state] = stamp_;
    while (!open_.empty()) {
      const uint32_t state = open_.back();
      open_.pop_back();
      const NfaState& entry = nfa_.states[state];
      if (!entry.bytes.empty() || !entry.labels.empty() || state == nfa_.end) result.push_back(state);
      for (const uint32_t next : entry.epsilon) {
        if (seen_[next] == stamp_) continue;
        seen_[next] = stamp_;
        open_.push_back(next);
      }
    }
    std::sort(result.begin(), result.end());
    return result;
  }

  uint32_t node_of(const Set& targets) {
    Set set = closure(targets);
    work_ += set.size() + 1;
    const auto [entry, added] = numbers_.try_emplace(std::move(set), static_cast<uint32_t>(sets_.size()));
    if (added) {
      sets_.push_back(entry->first);
      result_.nodes.emplace_back();
      result_.nodes.back().final = has_end(entry->first);
    }
    return entry->second;
  }

  void expand(size_t index) {
    std::vector<ByteEdge> edges;
    std::vector<LabelEdge> labels;
    for (const uint32_t state : sets_[index]) {
      const NfaState& entry = nfa_.states[state];
      edges.insert(edges.end(), entry.bytes.begin(), entry.bytes.end());
      labels.insert(labels.end(), entry.labels.begin(), entry.labels.end());
    }
    expand_bytes(index, edges);
    std::sort(labels.begin(), labels.end(), [](const LabelEdge& left, const LabelEdge& right) { return left.label < right.label; });
    for (size_t begin = 0; begin < labels.size();) {
      Set targets;
      size_t end = begin;
      for (; end < labels.size() && labels[end].label == labels[begin].label; ++end) targets.push_back(labels[end].target);
      const uint32_t node = node_of(targets);
      result_.nodes[index].labels.push_back({labels[begin].label, node});
      begin = end;
    }
  }

  void expand_bytes(size_t index, const std::vector<ByteEdge>& edges) {
    if (edges.empty()) return;
    std::vector<unsigned> bounds;
    for (const ByteEdge& edge : edges) {
      bounds.push_back(edge.first);
      bounds.push_back(edge.last + 1U);
    }
    std::sort(bounds.begin(), bounds.end());
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
    Set targets;
    for (size_t bound = 0; bound + 1 < bounds.size(); ++bound) {
      targets.clear();
      for (const ByteEdge& edge : edges) {
        if (edge.first <= bounds[bound] && bounds[bound] <= edge.last) targets.push_back(edge.target);
      }
      if (targets.empty()) continue;
      const uint32_t node = node_of(targets);
      std::vector<ByteEdge>& out = result_.nodes[index].bytes;
      const auto first = static_cast<uint8_t>(bounds[bound]);
      const auto last = static_cast<uint8_t>(bounds[bound + 1] - 1);
      if (!out.empty() && out.back().target == node && out.back().last + 1 == first) {
        out.back().last = last;
      } else {
        out.push_back({first, last, node});
      }
    }
  }

  // One node for each state that an edge leads to, with the edges of its closure.
  Dfa without_epsilon() {
    Dfa dfa;
    std::unordered_map<uint32_t, uint32_t> numbers;
    std::vector<uint32_t> states = {nfa_.start};
    dfa.nodes.emplace_back();
    const auto number_of = [&](uint32_t state) {
      const auto [entry, added] = numbers.try_emplace(state, static_cast<uint32_t>(states.size()));
      if (added) {
        states.push_back(state);
        dfa.nodes.emplace_back();
      }
      return entry->second;
    };
    size_t edges = 0;
    for (size_t index = 0; index < states.size(); ++index) {
      const Set set = closure({states[index]});
      DfaNode node;
      node.final = has_end(set) && !(index == 0 && drop_empty_);
      for (const uint32_t state : set) {
        for (const ByteEdge& edge : nfa_.states[state].bytes) node.bytes.push_back({edge.first, edge.last, number_of(edge.target)});
        for (const LabelEdge& edge : nfa_.states[state].labels) node.labels.push_back({edge.label, number_of(edge.target)});
      }
      edges += node.bytes.size() + node.labels.size();
      if (edges > 4 * kMaxStates) {
        fail(ErrorCode::unsupported, "a rule or pattern needs more than {} edges; make its repetitions smaller", 4 * kMaxStates);
      }
      dfa.nodes[index] = std::move(node);
    }
    return dfa;
  }

  const Nfa& nfa_;
  bool drop_empty_;
  size_t node_budget_;
  size_t work_budget_;
  size_t work_ = 0;
  uint32_t stamp_ = 0;
  std::vector<uint32_t> seen_;
  std::vector<uint32_t> open_;
  std::unordered_map<Set, uint32_t, SetHash> numbers_;
  std::vector<Set> sets_;
  Dfa result_;
};

class NoLabels final : public NfaLabels {
 public:
  Label label_of(ExpressionId) override { return {}; }
};

}  // namespace

Nfa build_nfa(const Grammar& grammar, ExpressionId expression, NfaLabels& labels) { return NfaBuilder(grammar, labels).build(expression); }

Dfa determinize(const Nfa& nfa, bool drop_empty) { return Determinizer(nfa, drop_empty).run(); }

Dfa regular_dfa(const Grammar& grammar, ExpressionId expression, std::string_view place) {
  if (grammar.is_never(expression)) return {};
  NoLabels labels;
  try {
    Dfa dfa = determinize(build_nfa(grammar, expression, labels), false);
    for (const DfaNode& node : dfa.nodes) {
      for (size_t index = 0; index + 1 < node.bytes.size(); ++index) {
        if (node.bytes[index].last >= node.bytes[index + 1].first)
          fail(ErrorCode::unsupported, "it needs too many states; make it simpler");
      }
    }
    return dfa;
  } catch (const Error& error) {
    throw Error(error, fmt::format("{}: {}", place, error.what()));
  }
}

}  // namespace wick
