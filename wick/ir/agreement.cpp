#include <algorithm>

#include "wick/ir/verify.h"

namespace wick::ir {
namespace {

// A variable agrees as far as the values assigned to it and the control flow around the assignments do. Both depend on variables, so all
// begin as agreeing and lose it, until nothing changes any more.
class AgreementAnalysis {
 public:
  explicit AgreementAnalysis(const Kernel& kernel)
      : kernel_(kernel), nodes_(kernel.nodes.size(), Agreement::group), variables_(kernel.variables.size(), Agreement::group) {
    loops_.resize(kernel.nodes.size());
    for (const Statement& statement : kernel.body) {
      if (statement.kind == StatementKind::loop) loops_[statement.target] = &statement;
    }
  }

  std::vector<Agreement> run() {
    do {
      changed_ = false;
      for (NodeId id = 0; id < kernel_.nodes.size(); ++id) nodes_[id] = of_node(id);
      visit_assignments();
    } while (changed_);
    return nodes_;
  }

 private:
  [[nodiscard]] Agreement of_operands(const Node& node) const {
    Agreement agreement = Agreement::group;
    for (int i = 0; i < node.operand_count(); ++i) agreement = std::max(agreement, nodes_[node.operands[static_cast<std::size_t>(i)]]);
    return agreement;
  }

  [[nodiscard]] Agreement of_node(NodeId id) const {
    const Node& node = kernel_.node(id);
    switch (node.op) {
      case Op::local_id:
      case Op::subgroup_lane:
      case Op::atomic_result:
      case Op::subgroup_shuffle_xor: return Agreement::lane;
      case Op::subgroup_id: return Agreement::subgroup;
      case Op::subgroup_reduce:
      case Op::subgroup_broadcast: return std::min(Agreement::subgroup, of_operands(node));
      case Op::read: return variables_[node.slot];
      case Op::loop_index: {
        const Statement* loop = loops_[id];
        return loop == nullptr ? Agreement::lane : std::max(nodes_[loop->operands[0]], nodes_[loop->operands[1]]);
      }
      case Op::load:
        // What others may write, they may write between the reads of two lanes.
        if (node.space == Space::shared || kernel_.buffers[node.slot].access != Access::read) return Agreement::lane;
        return of_operands(node);
      default: return of_operands(node);
    }
  }

  void visit_assignments() {
    std::vector<Agreement> control{Agreement::group};
    for (const Statement& statement : kernel_.body) {
      switch (statement.kind) {
        case StatementKind::loop:
          control.push_back(std::max({control.back(), nodes_[statement.operands[0]], nodes_[statement.operands[1]]}));
          break;
        case StatementKind::when: control.push_back(std::max(control.back(), nodes_[statement.operands[0]])); break;
        case StatementKind::end: control.pop_back(); break;
        case StatementKind::variable:
        case StatementKind::assign: {
          Agreement& variable = variables_[statement.slot];
          const Agreement assigned = std::max({variable, control.back(), nodes_[statement.operands[0]]});
          changed_ = changed_ || assigned != variable;
          variable = assigned;
          break;
        }
        case StatementKind::tile_get: {
          Agreement& variable = variables_[statement.source];
          changed_ = changed_ || variable != Agreement::lane;
          variable = Agreement::lane;
          break;
        }
        default: break;
      }
    }
  }

  const Kernel& kernel_;
  std::vector<Agreement> nodes_, variables_;
  std::vector<const Statement*> loops_;
  bool changed_ = false;
};

}  // namespace

std::vector<Agreement> agreements(const Kernel& kernel) { return AgreementAnalysis(kernel).run(); }

}  // namespace wick::ir
