#include "wick/ir/dialect/usage.h"

#include <algorithm>

namespace wick::ir {
namespace {

// The widths with which an array is read and written.
struct Widths {
  std::vector<uint8_t> loads, stores;

  // A language without pointers declares an array as vectors if all its vectors have one width and no scalar is stored, which would write
  // its neighbours too.
  [[nodiscard]] uint8_t declared() const {
    uint8_t width = 1;
    for (const uint8_t w : loads) width = std::max(width, w);
    for (const uint8_t w : stores) width = std::max(width, w);
    const auto fits = [&](uint8_t w) { return w == width; };
    const bool loads_fit = std::all_of(loads.begin(), loads.end(), [&](uint8_t w) { return w == 1 || fits(w); });
    return loads_fit && std::all_of(stores.begin(), stores.end(), fits) ? width : 1;
  }
};

class UsageScan {
 public:
  UsageScan(const Kernel& kernel, const Dialect& dialect) : kernel_(kernel), dialect_(dialect) {
    widths_ = {std::vector<Widths>(kernel.buffers.size()), std::vector<Widths>(kernel.shared.size())};
    usage_.atomic = {std::vector<bool>(kernel.buffers.size()), std::vector<bool>(kernel.shared.size())};
    usage_.tile_shapes.resize(kernel.tiles.size());
  }

  Usage run() {
    for (const BufferArgument& buffer : kernel_.buffers) element(buffer.element);
    for (const SharedArray& array : kernel_.shared) element(array.element);
    for (const Type variable : kernel_.variables) type(variable);
    for (const Statement& s : kernel_.body) {
      statement(s);
      for (const NodeId operand : s.operands) visit(operand);
      if (s.kind == StatementKind::let) visit(s.target);
    }
    for (const Statement& s : kernel_.body) {
      if (s.kind == StatementKind::tile_scale) usage_.tile_shapes[s.left] = usage_.tile_shapes[s.slot];
    }
    for (const Statement& s : kernel_.body) {
      if (s.kind >= StatementKind::tile_fill) add(usage_.tile_shapes[s.slot] == kLaneTile ? Feature::lane_tiles : Feature::tiles);
    }
    for (std::size_t space = 0; space < 2; ++space) {
      for (std::size_t i = 0; i < widths_[space].size(); ++i) {
        const bool wide = dialect_.vector_load.empty() && !usage_.atomic[space][i];
        usage_.widths[space].push_back(wide ? widths_[space][i].declared() : uint8_t{1});
      }
    }
    return usage_;
  }

 private:
  void add(Feature feature) { usage_.features[static_cast<std::size_t>(feature)] = true; }
  void type(Type t) {
    if (t == Type::f16) add(Feature::f16);
    if (t == Type::i64) add(Feature::int64);
    if (t == Type::f64) add(Feature::f64);
  }
  void element(Element e) {
    type(register_type(e));
    if (info(e).bytes == 1) add(Feature::storage_8bit);
    if (info(e).bytes == 2) add(Feature::storage_16bit);
  }

  void visit(NodeId id) {
    if (id == kNoNode) return;
    const Node& node = kernel_.node(id);
    type(node.type);
    if (is_subgroup(node.op) || node.op == Op::subgroup_lane || node.op == Op::subgroup_id) add(Feature::subgroups);
    if (node.op == Op::subgroup_reduce) add(Feature::subgroup_reduce);
    if (node.op == Op::subgroup_shuffle_xor || node.op == Op::subgroup_broadcast) add(Feature::subgroup_shuffle);
    if (node.op == Op::dot4) add(Feature::dot4);
    if (node.op == Op::unpack_half) add(Feature::unpack_half);
    if (node.op == Op::pack_halves) add(Feature::pack_halves);
    if (node.op == Op::fma_halves) add(Feature::fma_halves);
    if (node.op == Op::load) widths_[static_cast<std::size_t>(node.space)][node.slot].loads.push_back(node.lanes);
    for (const NodeId operand : node.operands) {
      if (operand != kNoNode && !is_read(kernel_.node(operand).op) && kernel_.node(operand).op != Op::loop_index) leaf_or_inline(operand);
    }
  }
  // Operands are let statements of their own, but for what is written where it is used.
  void leaf_or_inline(NodeId id) {
    const Op op = kernel_.node(id).op;
    if (is_leaf(op) || op == Op::lane || op == Op::vector) visit(id);
  }

  void statement(const Statement& s) {
    const auto space = static_cast<std::size_t>(s.space);
    if (s.kind == StatementKind::loop && s.unroll) add(Feature::unroll);
    if (s.kind == StatementKind::barrier && s.scope == BarrierScope::shared_and_buffers) add(Feature::buffer_barrier);
    if (is_copy(kernel_, dialect_, s)) add(Feature::copies);
    if (s.kind == StatementKind::store) widths_[space][s.slot].stores.push_back(kernel_.node(s.operands[1]).lanes);
    if (s.kind == StatementKind::atomic) {
      usage_.atomic[space][s.slot] = true;
      if (kernel_.element_of(s.space, s.slot) == Element::f32) add(Feature::f32_atomics);
    }
    if (s.kind == StatementKind::tile_load) widths_[space][s.source].loads.push_back(1);
    if (s.kind == StatementKind::tile_store) widths_[space][s.source].stores.push_back(1);
    if (s.kind != StatementKind::tile_multiply) return;
    const Tile &sum = kernel_.tiles[s.slot], &left = kernel_.tiles[s.left];
    for (const uint32_t tile : {s.slot, s.left, s.right}) usage_.tile_shapes[tile] = {sum.rows, sum.columns, left.columns};
  }

  const Kernel& kernel_;
  const Dialect& dialect_;
  Usage usage_;
  std::array<std::vector<Widths>, 2> widths_;
};

}  // namespace

bool is_copy(const Kernel& kernel, const Dialect& dialect, const Statement& statement) {
  if (statement.kind != StatementKind::store || !statement.late || dialect.copy.empty()) return false;
  const Node& value = kernel.node(statement.operands[1]);
  const bool whole = value.op == Op::load && value.space == Space::buffer && kernel.buffers[value.slot].access == Access::read;
  const bool gated = statement.operands[2] != kNoNode || value.operands[1] != kNoNode;
  return whole && !gated && value.lanes * info(kernel.element_of(value.space, value.slot)).bytes == 16;
}

Usage usage_of(const Kernel& kernel, const Dialect& dialect) { return UsageScan(kernel, dialect).run(); }

}  // namespace wick::ir
