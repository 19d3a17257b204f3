#include "wick/text/grammar/automaton.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "wick/base/fail.h"
#include "wick/text/grammar/nfa.h"
#include "wick/text/grammar/rule_facts.h"

namespace wick {
namespace {

constexpr size_t kMaxNodes = 1'000'000;

}  // namespace

// Builds one Dfa for each rule, repetition and group member that is called, and for the names of a group's members, then joins them.
class AutomatonCompiler final : public NfaLabels {
 public:
  AutomatonCompiler(Grammar& grammar, ExpressionId root, Automaton& result)
      : grammar_(grammar), facts_(grammar, root), root_(root), result_(result) {}

  void compile() {
    body_of(root_, "root");
    for (size_t body = 0; body < bodies_.size(); ++body) build_body(body);
    find_productive();
    if (!facts_.is_nullable(root_) && !productive_[bodies_[0].first_node]) {
      fail(ErrorCode::invalid_argument, "no text fits the format: its rules never come to an end or contradict each other");
    }
    result_.accepts_empty_ = facts_.is_nullable(root_);
    result_.start_ = bodies_[0].first_node;
    write_groups();
    write_nodes();
    find_names();
    refuse_left_recursion();
    find_classes();
    for (const Body& body : bodies_) result_.rules_.emplace_back(body.first_node, body.rule);
    // It is kept as long as somebody may ask for the format again.
    result_.nodes_.shrink_to_fit();
    result_.bytes_.shrink_to_fit();
    result_.calls_.shrink_to_fit();
  }

  Label label_of(ExpressionId id) override {
    const Expression& expression = grammar_.at(id);
    switch (expression.kind) {
      case Expression::Kind::rule: {
        if (facts_.is_inlined(expression.index)) return {};
        const Grammar::Rule& rule = grammar_.rules()[expression.index];
        return label({LabelKind::rule, body_of(rule.body, rule.name), 0, 0}, facts_.is_nullable(rule.body));
      }
      case Expression::Kind::repeat: {
        if (facts_.is_copied(expression)) return {};
        const ExpressionId child = expression.children.front();
        const bool child_nullable = facts_.is_nullable(child);
        const uint32_t smallest = child_nullable ? 0 : expression.smallest;
        return label({LabelKind::repeat, body_of(child, current_rule_), std::max(smallest, 1U), expression.largest}, smallest == 0);
      }
      case Expression::Kind::token: return label({LabelKind::token, expression.index, 0, 0}, false);
      case Expression::Kind::group: return label({LabelKind::group, group_of(expression.index), 0, 0}, facts_.is_nullable(id));
      case Expression::Kind::member:
        return label({LabelKind::member, groups_[expression.index].members[expression.smallest], expression.index, expression.smallest},
                     false);
      default: return {};
    }
  }

 private:
  enum class LabelKind : uint8_t { rule, repeat, token, group, member };
  // Kind; body, token or group; smallest or group; largest or member.
  using LabelKey = std::tuple<LabelKind, uint32_t, uint32_t, uint32_t>;
  struct Body {
    ExpressionId expression;
    std::string rule;  // that it is, or is part of
    uint32_t first_node = 0;
  };
  struct Start {
    uint32_t first = 0;
    uint32_t next = 0;
  };
  // Numbers of bodies.
  struct GroupBodies {
    uint32_t grammar_group = 0;
    std::vector<uint32_t> members = {};  // what follows their names
    Start names = {};
    Start other = {};
  };
  struct NamedMember {
    ExpressionId name;
    ExpressionId rest;
  };

  Label label(const LabelKey& key, bool nullable) {
    const auto [entry, added] = label_numbers_.try_emplace(key, static_cast<uint32_t>(labels_.size()));
    if (added) labels_.push_back(key);
    return {.used = true, .nullable = nullable, .number = entry->second};
  }

  uint32_t body_of(ExpressionId expression, const std::string& rule) {
    const auto [entry, added] = body_numbers_.try_emplace(expression, static_cast<uint32_t>(bodies_.size()));
    if (added) bodies_.push_back({expression, rule});
    return entry->second;
  }

  uint32_t group_of(uint32_t index) {
    const auto [entry, added] = group_numbers_.try_emplace(index, static_cast<uint32_t>(groups_.size()));
    if (!added) return entry->second;
    const auto number = static_cast<uint32_t>(groups_.size());
    groups_.push_back({.grammar_group = index});
    const MemberGroup group = grammar_.group_at(index);
    std::vector<ExpressionId> names;
    for (const ExpressionId member : group.members) {
      const auto [name, rest] = split_member(member);
      names.push_back(grammar_.sequence({name, grammar_.member(number, static_cast<uint32_t>(names.size()))}));
      groups_[number].members.push_back(body_of(rest, current_rule_));
    }
    const auto start = [&](ExpressionId what) -> Start {
      return {body_of(what, current_rule_), body_of(grammar_.sequence({group.separator, what}), current_rule_)};
    };
    groups_[number].names = start(grammar_.choice(std::move(names)));
    groups_[number].other = start(group.other);
    return number;
  }

  void add_parts(ExpressionId id, std::vector<ExpressionId>& parts) const {
    if (grammar_.at(id).kind != Expression::Kind::sequence) return parts.push_back(id);
    for (const ExpressionId child : grammar_.at(id).children) add_parts(child, parts);
  }

  // The literals and tokens that a member begins with, but for the last byte of one that is nothing else, and what follows, which is not
  // empty.
  NamedMember split_member(ExpressionId member) {
    std::vector<ExpressionId> parts;
    add_parts(member, parts);
    const auto is_rest_nullable = [&](size_t from) {
      return std::all_of(parts.begin() + static_cast<std::ptrdiff_t>(from), parts.end(),
                         [&](ExpressionId part) { return facts_.is_nullable(part); });
    };
    size_t count = 0;
    while (count < parts.size() && !is_rest_nullable(count + 1) &&
           (grammar_.at(parts[count]).kind == Expression::Kind::literal || grammar_.at(parts[count]).kind == Expression::Kind::token)) {
      ++count;
    }
    if (count < parts.size() && grammar_.at(parts[count]).kind == Expression::Kind::literal && !grammar_.at(parts[count]).text.empty()) {
      const std::string text = grammar_.at(parts[count]).text;
      parts[count] = grammar_.literal(std::string_view(text).substr(text.size() - 1));
      parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(count), grammar_.literal(std::string_view(text).substr(0, text.size() - 1)));
      ++count;
    }
    const auto rest = parts.begin() + static_cast<std::ptrdiff_t>(count);
    return {grammar_.sequence({parts.begin(), rest}), grammar_.sequence({rest, parts.end()})};
  }

  void build_body(size_t index) {
    current_rule_ = bodies_[index].rule;
    Dfa dfa;
    if (!grammar_.is_never(bodies_[index].expression)) dfa = determinize(build_nfa(grammar_, bodies_[index].expression, *this), true);
    const auto offset = static_cast<uint32_t>(nodes_.size());
    bodies_[index].first_node = offset;
    if (dfa.nodes.empty()) dfa.nodes.emplace_back();
    for (DfaNode& node : dfa.nodes) {
      for (ByteEdge& edge : node.bytes) edge.target += offset;
      for (LabelEdge& edge : node.labels) edge.target += offset;
      nodes_.push_back(std::move(node));
    }
    node_body_.resize(nodes_.size(), static_cast<uint32_t>(index));
    if (nodes_.size() > kMaxNodes) fail(ErrorCode::unsupported, "the format needs more than {} states; make it smaller", kMaxNodes);
  }

  [[nodiscard]] bool body_productive(uint32_t body) const { return productive_[bodies_[body].first_node]; }

  // Whether the label's language has a text.
  [[nodiscard]] bool label_productive(uint32_t number) const {
    const auto& [kind, what, smallest, largest] = labels_[number];
    switch (kind) {
      case LabelKind::token: return true;
      case LabelKind::rule:
      case LabelKind::repeat:
      case LabelKind::member: return body_productive(what);
      case LabelKind::group: {
        const GroupBodies& bodies = groups_[what];
        const MemberGroup& group = grammar_.group_at(bodies.grammar_group);
        bool any = body_productive(bodies.other.first);
        for (size_t member = 0; member < bodies.members.size(); ++member) {
          const bool productive = body_productive(bodies.members[member]);
          if ((group.required >> member & 1) != 0 && !productive) return false;
          any = any || productive;
        }
        return any && group.largest > 0;
      }
    }
    return false;
  }

  // A node is productive if an end can be reached from it. Rounds over all nodes, backwards, since ends are mostly at the back.
  void find_productive() {
    productive_.assign(nodes_.size(), false);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t index = nodes_.size(); index-- > 0;) {
        if (productive_[index]) continue;
        const DfaNode& node = nodes_[index];
        const bool found =
            node.final ||
            std::any_of(node.bytes.begin(), node.bytes.end(), [&](const ByteEdge& edge) { return productive_[edge.target]; }) ||
            std::any_of(node.labels.begin(), node.labels.end(),
                        [&](const LabelEdge& edge) { return productive_[edge.target] && label_productive(edge.label); });
        if (found) productive_[index] = changed = true;
      }
    }
  }

  void write_groups() {
    for (const GroupBodies& bodies : groups_) {
      const MemberGroup& group = grammar_.group_at(bodies.grammar_group);
      const auto start_of = [&](uint32_t body) { return body_productive(body) ? bodies_[body].first_node : AutomatonGroup::kNoStart; };
      result_.groups_.push_back({.names = {start_of(bodies.names.first), start_of(bodies.names.next)},
                                 .other = {start_of(bodies.other.first), start_of(bodies.other.next)},
                                 .required = group.required,
                                 .smallest = group.smallest,
                                 .largest = group.largest});
    }
  }

  // Which members the nodes of a group's names lead to, backwards from the ends of the names.
  void find_names() {
    for (const GroupBodies& bodies : groups_) {
      for (const uint32_t body : {bodies.names.first, bodies.names.next}) {
        const uint32_t begin = bodies_[body].first_node;
        const size_t end = body + 1 < bodies_.size() ? bodies_[body + 1].first_node : nodes_.size();
        for (bool changed = true; changed;) {
          changed = false;
          for (size_t index = end; index-- > begin;) {
            AutomatonNode& node = result_.nodes_[index];
            uint64_t names = node.names;
            for (const ByteEdge& edge : result_.bytes(node)) names |= result_.nodes_[edge.target].names;
            for (const TokenEdge& edge : result_.tokens(node)) names |= result_.nodes_[edge.target].names;
            for (uint32_t call = node.calls_begin; call < node.calls_end; ++call) {
              const AutomatonCall& entry = result_.calls_[call];
              names |= entry.kind == AutomatonCall::Kind::member ? uint64_t{1} << entry.group : result_.nodes_[entry.target].names;
            }
            changed = changed || names != node.names;
            node.names = names;
          }
        }
      }
    }
  }

  void write_nodes() {
    for (const DfaNode& node : nodes_) {
      AutomatonNode out;
      out.final = node.final;
      out.bytes_begin = static_cast<uint32_t>(result_.bytes_.size());
      for (const ByteEdge& edge : node.bytes) {
        if (productive_[edge.target]) result_.bytes_.push_back(edge);
      }
      out.bytes_end = static_cast<uint32_t>(result_.bytes_.size());
      out.calls_begin = static_cast<uint32_t>(result_.calls_.size());
      out.tokens_begin = static_cast<uint32_t>(result_.tokens_.size());
      for (const LabelEdge& edge : node.labels) {
        if (productive_[edge.target] && label_productive(edge.label)) write_label(edge);
      }
      out.calls_end = static_cast<uint32_t>(result_.calls_.size());
      out.tokens_end = static_cast<uint32_t>(result_.tokens_.size());
      result_.nodes_.push_back(out);
    }
  }

  void write_label(const LabelEdge& edge) {
    const auto& [kind, what, smallest, largest] = labels_[edge.label];
    if (kind == LabelKind::token) {
      result_.tokens_.push_back({static_cast<int32_t>(what), edge.target});
      return;
    }
    const DfaNode& target = nodes_[edge.target];
    AutomatonCall call;
    call.target = edge.target;
    call.tail = kind == LabelKind::rule && target.final && target.bytes.empty() && target.labels.empty();
    if (kind == LabelKind::group) {
      call.kind = AutomatonCall::Kind::group;
      call.group = what;
    } else if (kind == LabelKind::member) {
      call.kind = AutomatonCall::Kind::member;
      call.group = largest;
      call.start = bodies_[what].first_node;
    } else {
      call.kind = kind == LabelKind::rule ? AutomatonCall::Kind::rule : AutomatonCall::Kind::repeat;
      call.start = bodies_[what].first_node;
      call.smallest = smallest;
      call.largest = largest;
      constexpr uint32_t kLightBytes = 16;
      call.light = kind == LabelKind::repeat && facts_.longest_of(bodies_[what].expression) <= kLightBytes;
    }
    result_.calls_.push_back(call);
  }

  // A body whose first step is a call of itself, maybe through others, would put frames on the stack without end.
  void refuse_left_recursion() {
    std::vector<uint8_t> state(bodies_.size(), 0);  // 0: not seen, 1: under way, 2: done
    std::vector<std::pair<uint32_t, std::vector<uint32_t>>> visits;
    for (uint32_t root = 0; root < bodies_.size(); ++root) {
      if (state[root] != 0) continue;
      state[root] = 1;
      visits.emplace_back(root, first_calls(root));
      while (!visits.empty()) {
        auto& [body, callees] = visits.back();
        if (callees.empty()) {
          state[body] = 2;
          visits.pop_back();
          continue;
        }
        const uint32_t callee = callees.back();
        callees.pop_back();
        if (state[callee] == 1) {
          fail(ErrorCode::unsupported, "rule '{}' begins with itself (left recursion); write the repetition as ( … )* instead",
               bodies_[callee].rule);
        }
        if (state[callee] != 0) continue;
        state[callee] = 1;
        visits.emplace_back(callee, first_calls(callee));
      }
    }
  }

  [[nodiscard]] std::vector<uint32_t> first_calls(uint32_t body) const {
    std::vector<uint32_t> result;
    const AutomatonNode& node = result_.nodes_[bodies_[body].first_node];
    const auto add = [&](uint32_t start) {
      if (start != AutomatonGroup::kNoStart) result.push_back(node_body_[start]);
    };
    for (uint32_t index = node.calls_begin; index < node.calls_end; ++index) {
      const AutomatonCall& call = result_.calls_[index];
      if (call.kind != AutomatonCall::Kind::group) {
        add(call.start);
        continue;
      }
      const AutomatonGroup& group = result_.groups_[call.group];
      add(group.names.first);
      add(group.other.first);
    }
    return result;
  }

  void find_classes() {
    std::array<bool, 257> begins{};
    for (const ByteEdge& edge : result_.bytes_) {
      begins[edge.first] = true;
      begins[edge.last + 1U] = true;
    }
    uint8_t current = 0;
    for (size_t byte = 1; byte < 256; ++byte) {
      if (begins[byte]) ++current;
      result_.classes_[byte] = current;
    }
    result_.class_count_ = current + 1U;
  }

  Grammar& grammar_;
  RuleFacts facts_;
  ExpressionId root_;
  Automaton& result_;
  std::vector<Body> bodies_;
  std::string current_rule_;  // of the body that is being built
  std::map<ExpressionId, uint32_t> body_numbers_;
  std::vector<LabelKey> labels_;
  std::map<LabelKey, uint32_t> label_numbers_;
  std::vector<GroupBodies> groups_;
  std::map<uint32_t, uint32_t> group_numbers_;
  std::vector<DfaNode> nodes_;
  std::vector<uint32_t> node_body_;
  std::vector<bool> productive_;
};

Automaton::Automaton(Grammar grammar, ExpressionId root) { AutomatonCompiler(grammar, root, *this).compile(); }

std::string_view Automaton::rule_of(uint32_t node) const {
  const auto next = std::upper_bound(rules_.begin(), rules_.end(), node, [](uint32_t at, const auto& rule) { return at < rule.first; });
  return next == rules_.begin() ? std::string_view("root") : std::string_view(std::prev(next)->second);
}

size_t Automaton::bytes() const noexcept {
  size_t bytes = nodes_.capacity() * sizeof(AutomatonNode) + bytes_.capacity() * sizeof(ByteEdge) +
                 calls_.capacity() * sizeof(AutomatonCall) + tokens_.capacity() * sizeof(TokenEdge) +
                 groups_.capacity() * sizeof(AutomatonGroup);
  for (const auto& rule : rules_) bytes += sizeof(rule) + rule.second.capacity();
  return bytes;
}

}  // namespace wick
