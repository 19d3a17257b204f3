#include "wick/ir/provable_bounds.h"

#include <map>

#include "wick/base/fail.h"
#include "wick/ir/arithmetic.h"

namespace wick::ir {
namespace {

// The nodes' values in all lanes, as far as they are known.
class KnownValues {
 public:
  explicit KnownValues(const Kernel& kernel) : kernel_(kernel), active_(kernel.group_size, 1) {}

  void set_loop_index(NodeId id, uint64_t value) {
    loop_indices_[id] = value;
    known_.clear();
  }
  void forget_loop_index(NodeId id) {
    loop_indices_.erase(id);
    known_.clear();
  }

  // nullptr: not known.
  const std::vector<Bits>* of(NodeId id) {
    if (const auto found = known_.find(id); found != known_.end()) return found->second.empty() ? nullptr : &found->second;
    std::vector<Bits>& values = known_[id];
    values = compute(id);
    return values.empty() ? nullptr : &values;
  }

 private:
  std::vector<Bits> per_lane(auto&& f) const {
    std::vector<Bits> values(kernel_.group_size);
    for (uint32_t lane = 0; lane < kernel_.group_size; ++lane) values[lane] = f(lane);
    return values;
  }

  std::vector<Bits> compute(NodeId id) {
    const Node& node = kernel_.node(id);
    switch (node.op) {
      case Op::constant: return per_lane([&](uint32_t) { return node.bits; });
      case Op::local_id: return per_lane([](uint32_t lane) { return lane; });
      case Op::subgroup_lane: return per_lane([&](uint32_t lane) { return lane % kernel_.subgroup_size; });
      case Op::subgroup_id: return per_lane([&](uint32_t lane) { return lane / kernel_.subgroup_size; });
      case Op::loop_index: {
        const auto found = loop_indices_.find(id);
        return found == loop_indices_.end() ? std::vector<Bits>{} : per_lane([&](uint32_t) { return found->second; });
      }
      default: break;
    }
    if (is_leaf(node.op) || is_read(node.op) || node.op == Op::vector || node.op == Op::lane) return {};
    std::array<std::vector<Bits>, 3> operands;
    for (int i = 0; i < node.operand_count(); ++i) {
      const std::vector<Bits>* known = of(node.operands[static_cast<std::size_t>(i)]);
      if (known == nullptr) return {};
      operands[static_cast<std::size_t>(i)] = *known;
    }
    std::vector<Bits> result(kernel_.group_size);
    const Type type = kernel_.node(node.operands[0]).type;
    const Fault fault = evaluate(node, type, active_, operands[0], operands[1], operands[2], result);
    return fault.kind == FaultKind::none ? result : std::vector<Bits>{};
  }

  const Kernel& kernel_;
  std::vector<uint8_t> active_;
  std::map<NodeId, uint64_t> loop_indices_;
  std::map<NodeId, std::vector<Bits>> known_;  // empty: not known
};

class BoundsCheck {
 public:
  explicit BoundsCheck(const Kernel& kernel) : kernel_(kernel), values_(kernel) {}
  void run() { visit(0, false); }

 private:
  // Visits the block that begins at `at`; gives the place behind its end. A loop of constant bounds is visited in its first and last round.
  std::size_t visit(std::size_t at, bool guarded) {
    while (at < kernel_.body.size() && kernel_.body[at].kind != StatementKind::end) {
      const Statement& statement = kernel_.body[at];
      if (statement.kind == StatementKind::when) {
        at = visit(at + 1, true);
      } else if (statement.kind == StatementKind::loop) {
        at = visit_loop(statement, at + 1, guarded);
      } else {
        if (!guarded) check(statement);
        ++at;
      }
    }
    return at + 1;
  }

  std::size_t visit_loop(const Statement& loop, std::size_t body, bool guarded) {
    const Node &begin = kernel_.node(loop.operands[0]), &end = kernel_.node(loop.operands[1]);
    const bool known = begin.op == Op::constant && end.op == Op::constant && begin.bits < end.bits;
    if (guarded || !known || depth_ == 4) return visit(body, true);  // 2^4 combinations of rounds are enough
    ++depth_;
    const uint64_t last = begin.bits + (end.bits - 1 - begin.bits) / loop.step * loop.step;
    values_.set_loop_index(loop.target, begin.bits);
    const std::size_t behind = visit(body, false);
    if (last != begin.bits) {
      values_.set_loop_index(loop.target, last);
      visit(body, false);
    }
    values_.forget_loop_index(loop.target);
    --depth_;
    return behind;
  }

  void check(const Statement& statement) {
    if (statement.kind == StatementKind::let) {
      const Node& node = kernel_.node(statement.target);
      if (node.op == Op::load && node.space == Space::shared && node.operands[1] == kNoNode) {
        check_index("load", node.slot, node.operands[0], node.lanes);
      }
    } else if (statement.space == Space::shared && (statement.kind == StatementKind::store || statement.kind == StatementKind::atomic)) {
      const uint8_t lanes = kernel_.node(statement.operands[1]).lanes;
      if (statement.kind == StatementKind::atomic || statement.operands[2] == kNoNode) {
        check_index(to_string(statement.kind), statement.slot, statement.operands[0], lanes);
      }
    }
  }

  void check_index(std::string_view what, uint32_t slot, NodeId index, uint32_t lanes) {
    const std::vector<Bits>* known = values_.of(index);
    if (known == nullptr) return;
    const uint32_t count = kernel_.shared[slot].count;
    for (uint32_t lane = 0; lane < known->size(); ++lane) {
      const uint64_t first = (*known)[lane];
      if (first + lanes <= count) continue;
      fail(ErrorCode::index_out_of_range, "kernel {}: {} of shared array {}, which has {} elements, at {} in lane {}", kernel_.name, what,
           slot, count, first, lane);
    }
  }

  const Kernel& kernel_;
  KnownValues values_;
  int depth_ = 0;
};

}  // namespace

void check_provable_bounds(const Kernel& kernel) { BoundsCheck(kernel).run(); }

}  // namespace wick::ir
