#include <algorithm>

#include "wick/base/fail.h"
#include "wick/ir/passes.h"

namespace wick::ir {
namespace {

// Written where it is used: naming it would not save anything.
bool is_inline(Op op) { return is_leaf(op) || op == Op::lane || op == Op::vector; }

// Integer division by what may be zero, and shifts by what may be too much.
bool may_fault(const Kernel& kernel, const Node& node) {
  const bool division = (node.op == Op::divide || node.op == Op::remainder) && is_integer(node.type);
  const bool shift = node.op == Op::shift_left || node.op == Op::shift_right;
  if (!division && !shift) return false;
  const Node& right = kernel.node(node.operands[1]);
  if (right.op != Op::constant) return true;
  const uint64_t width = static_cast<uint64_t>(info(node.type).bytes) * 8;
  const uint64_t minus_one = width == 64 ? ~uint64_t{0} : 0xffffffffU;
  return shift ? right.bits >= width : right.bits == 0 || (node.type != Type::u32 && right.bits == minus_one);
}

bool is_cheap(const Node& node) {
  switch (node.op) {
    case Op::divide:
    case Op::remainder:
    case Op::square_root:
    case Op::exp2:
    case Op::log2:
    case Op::sine: return false;
    default: return true;
  }
}

class Scheduler {
 public:
  Scheduler(const Kernel& kernel, ScheduleOptions options)
      : kernel_(kernel), options_(options), depth_(kernel.nodes.size(), kUnplaced), used_(kernel.nodes.size()) {}

  Kernel run() {
    mark_used();
    blocks_.emplace_back();
    for (std::size_t i = 0; i < kernel_.body.size(); ++i) {
      const StatementKind kind = kernel_.body[i].kind;
      if ((kind == StatementKind::loop || kind == StatementKind::when) && !acts_[i]) {
        i = end_of(i);
      } else {
        place(kernel_.body[i]);
      }
    }
    WICK_ASSERT(blocks_.size() == 1);
    Kernel result = kernel_;
    result.body = std::move(blocks_.front().statements);
    return result;
  }

 private:
  static constexpr int kUnplaced = -1;

  struct Block {
    Statement header;
    std::vector<Statement> statements;
    std::vector<NodeId> defined;
  };

  [[nodiscard]] std::size_t end_of(std::size_t opening) const {
    int depth = 1;
    std::size_t i = opening;
    while (depth > 0) {
      const StatementKind kind = kernel_.body[++i].kind;
      if (kind == StatementKind::loop || kind == StatementKind::when) ++depth;
      if (kind == StatementKind::end) --depth;
    }
    return i;
  }

  void mark(NodeId id) {
    if (id == kNoNode || used_[id]) return;
    used_[id] = true;
    for (const NodeId operand : kernel_.node(id).operands) mark(operand);
  }

  // What effects use, and the conditions and bounds of the blocks that hold effects.
  void mark_used() {
    std::vector<std::size_t> open;
    acts_.assign(kernel_.body.size(), false);
    for (std::size_t i = 0; i < kernel_.body.size(); ++i) {
      const StatementKind kind = kernel_.body[i].kind;
      if (kind == StatementKind::loop || kind == StatementKind::when) {
        open.push_back(i);
      } else if (kind == StatementKind::end) {
        open.pop_back();
      } else if (kind != StatementKind::let && kind != StatementKind::comment) {
        acts_[i] = true;
        for (const std::size_t block : open) acts_[block] = true;
      }
    }
    for (std::size_t i = 0; i < kernel_.body.size(); ++i) {
      if (!acts_[i]) continue;
      for (const NodeId operand : kernel_.body[i].operands) mark(operand);
    }
  }

  [[nodiscard]] int innermost() const { return static_cast<int>(blocks_.size()) - 1; }

  void define(NodeId id, int depth) {
    depth_[id] = depth;
    blocks_[static_cast<std::size_t>(depth)].defined.push_back(id);
  }

  // The outermost block where the node may be computed, given that its operands live at `operands_depth`.
  [[nodiscard]] int outermost(const Node& node, int operands_depth) const {
    int depth = innermost();
    if (!options_.move_out_of_loops || may_fault(kernel_, node)) return depth;
    while (depth > operands_depth && (blocks_[static_cast<std::size_t>(depth)].header.kind == StatementKind::loop || is_cheap(node))) {
      --depth;
    }
    return depth;
  }

  // Places what the node needs, and the node. Gives the depth where it lives.
  int need(NodeId id) {
    if (depth_[id] != kUnplaced) return depth_[id];
    const Node& node = kernel_.node(id);
    WICK_ASSERT(!is_read(node.op) && node.op != Op::loop_index && node.op != Op::atomic_result);
    int operands_depth = 0;
    for (int i = 0; i < node.operand_count(); ++i)
      operands_depth = std::max(operands_depth, need(node.operands[static_cast<std::size_t>(i)]));
    if (is_inline(node.op)) return operands_depth;
    const int depth = outermost(node, operands_depth);
    append_let(id, depth);
    return depth;
  }

  void append_let(NodeId id, int depth) {
    Statement let;
    let.kind = StatementKind::let;
    let.target = id;
    blocks_[static_cast<std::size_t>(depth)].statements.push_back(std::move(let));
    define(id, depth);
  }

  void need_operands(const Statement& statement) {
    for (const NodeId operand : statement.operands) {
      if (operand != kNoNode) need(operand);
    }
  }

  void place(const Statement& statement) {
    if (statement.kind == StatementKind::let) {
      const Node& node = kernel_.node(statement.target);
      if (!is_read(node.op) || !used_[statement.target] || depth_[statement.target] != kUnplaced) return;
      for (int i = 0; i < node.operand_count(); ++i) need(node.operands[static_cast<std::size_t>(i)]);
      return append_let(statement.target, innermost());
    }
    if (statement.kind == StatementKind::end) return close();
    need_operands(statement);
    if (statement.kind == StatementKind::loop || statement.kind == StatementKind::when) {
      blocks_.emplace_back().header = statement;
      if (statement.kind == StatementKind::loop) define(statement.target, innermost());
      return;
    }
    blocks_.back().statements.push_back(statement);
    if (statement.kind == StatementKind::atomic) define(statement.target, innermost());
  }

  void close() {
    Block block = std::move(blocks_.back());
    blocks_.pop_back();
    for (const NodeId id : block.defined) depth_[id] = kUnplaced;
    std::vector<Statement>& outer = blocks_.back().statements;
    outer.push_back(std::move(block.header));
    std::move(block.statements.begin(), block.statements.end(), std::back_inserter(outer));
    Statement end;
    end.kind = StatementKind::end;
    outer.push_back(std::move(end));
  }

  const Kernel& kernel_;
  ScheduleOptions options_;
  std::vector<int> depth_;  // of the block where a node lives; kUnplaced: it does not, here
  std::vector<bool> used_;
  std::vector<bool> acts_;  // per statement: an effect, or a block that holds one
  std::vector<Block> blocks_;
};

}  // namespace

Kernel schedule(const Kernel& kernel, ScheduleOptions options) { return Scheduler(kernel, options).run(); }

}  // namespace wick::ir
