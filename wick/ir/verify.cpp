#include "wick/ir/verify.h"

#include <algorithm>
#include <bit>
#include <set>

#include "wick/base/fail.h"
#include "wick/ir/node_types.h"
#include "wick/ir/provable_bounds.h"

namespace wick::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel), depth_(kernel.nodes.size(), kHidden) {}

  void run() {
    check_arguments();
    check_sizes();
    for (NodeId id = 0; id < kernel_.nodes.size(); ++id) {
      for (int i = 0; i < kernel_.node(id).operand_count(); ++i) {
        if (kernel_.node(id).operands[static_cast<std::size_t>(i)] >= id) refuse(fmt::format("node {} comes before its operand", id));
      }
      check_node(kernel_, kernel_.node(id));
    }
    for (const Statement& statement : kernel_.body) check_statement(kernel_, statement);
    check_set_tiles();
    check_blocks();
    check_convergence();
    check_provable_bounds(kernel_);
  }

 private:
  static constexpr int kHidden = -1;

  [[noreturn]] void refuse(const std::string& why, ErrorCode code = ErrorCode::invalid_argument) const {
    fail(code, "kernel {}: {}", kernel_.name, why);
  }

  void check_arguments() const {
    check_name(kernel_, "its name", kernel_.name);
    std::set<std::string> names;
    for (const BufferArgument& buffer : kernel_.buffers) {
      check_name(kernel_, "buffer", buffer.name);
      if (!names.insert(buffer.name).second) refuse(fmt::format("two arguments are called {}", buffer.name));
    }
    for (const ParameterArgument& parameter : kernel_.parameters) {
      check_name(kernel_, "parameter", parameter.name);
      if (!names.insert(parameter.name).second) refuse(fmt::format("two arguments are called {}", parameter.name));
      if (parameter.type != Type::i32 && parameter.type != Type::u32 && parameter.type != Type::f32) {
        refuse(fmt::format("parameter {} is a {}; parameters are i32, u32 or f32", parameter.name, to_string(parameter.type)),
               ErrorCode::dtype_mismatch);
      }
    }
  }

  void check_sizes() const {
    if (kernel_.group_size == 0) refuse("a group of 0 lanes");
    const uint32_t size = kernel_.subgroup_size;
    if (size != 0 && (!std::has_single_bit(size) || size > 128 || kernel_.group_size % size != 0)) {
      refuse(fmt::format("subgroups of {} in a group of {}: the size is a power of two up to 128 and divides the group", size,
                         kernel_.group_size));
    }
    for (const SharedArray& array : kernel_.shared) {
      if (array.count == 0) refuse("a shared array of 0 elements");
    }
    for (const Tile& tile : kernel_.tiles) {
      if (tile.rows == 0 || tile.columns == 0) refuse(fmt::format("a matrix tile of [{}, {}]", tile.rows, tile.columns));
    }
  }

  // The layout in which lanes set a tile is that of one product.
  void check_set_tiles() const {
    std::vector<bool> set(kernel_.tiles.size(), false);
    for (const Statement& s : kernel_.body) {
      if (s.kind == StatementKind::tile_set) set[s.slot] = true;
    }
    for (const Statement& s : kernel_.body) {
      if (s.kind != StatementKind::tile_multiply || (!set[s.left] && !set[s.right])) continue;
      const TileShape shape{kernel_.tiles[s.slot].rows, kernel_.tiles[s.slot].columns, kernel_.tiles[s.left].columns};
      if (!(shape == kLaneTile))
        refuse(fmt::format("tile_multiply: a product [{}, {}, {}] of a tile that lanes set", shape.m, shape.n, shape.k));
    }
  }

  // --- values live where they are used --------------------------------------------------------------------------------------------

  struct Block {
    std::vector<NodeId> nodes;
    std::vector<uint32_t> variables;
  };

  void define(NodeId id, std::size_t depth) {
    depth_[id] = static_cast<int>(depth);
    blocks_[depth].nodes.push_back(id);
  }

  std::size_t need(NodeId id, const Statement& user) {
    if (depth_[id] != kHidden) return static_cast<std::size_t>(depth_[id]);
    const Node& node = kernel_.node(id);
    if (is_read(node.op) || node.op == Op::loop_index || node.op == Op::atomic_result) {
      refuse(fmt::format("{} uses a {} outside the block that computes it", to_string(user.kind), to_string(node.op)));
    }
    std::size_t depth = 0;
    for (int i = 0; i < node.operand_count(); ++i) depth = std::max(depth, need(node.operands[static_cast<std::size_t>(i)], user));
    define(id, depth);
    return depth;
  }

  void check_blocks() {
    live_.assign(kernel_.variables.size(), false);
    blocks_.emplace_back();
    for (const Statement& statement : kernel_.body) visit(statement);
    if (blocks_.size() != 1) refuse(fmt::format("{} blocks have no end", blocks_.size() - 1));
  }

  void visit(const Statement& statement) {
    for (const NodeId operand : statement.operands) {
      if (operand != kNoNode) need(operand, statement);
    }
    switch (statement.kind) {
      case StatementKind::let: return visit_let(statement);
      case StatementKind::variable:
        live_[statement.slot] = true;
        blocks_.back().variables.push_back(statement.slot);
        return;
      case StatementKind::assign:
        if (!live_[statement.slot]) refuse(fmt::format("variable {} is assigned outside its block", statement.slot));
        return;
      case StatementKind::tile_get:
        if (!live_[statement.source]) refuse(fmt::format("variable {} is assigned outside its block", statement.source));
        return;
      case StatementKind::loop: blocks_.emplace_back(); return define(statement.target, blocks_.size() - 1);
      case StatementKind::when: blocks_.emplace_back(); return;
      case StatementKind::atomic: return define(statement.target, blocks_.size() - 1);
      case StatementKind::end: return close_block();
      default: return;
    }
  }

  void visit_let(const Statement& let) {
    const Node& node = kernel_.node(let.target);
    for (int i = 0; i < node.operand_count(); ++i) need(node.operands[static_cast<std::size_t>(i)], let);
    if (node.op == Op::read && !live_[node.slot]) refuse(fmt::format("variable {} is read outside its block", node.slot));
    if (depth_[let.target] == kHidden) define(let.target, blocks_.size() - 1);
  }

  void close_block() {
    if (blocks_.size() == 1) refuse("an end without a block");
    for (const NodeId id : blocks_.back().nodes) depth_[id] = kHidden;
    for (const uint32_t slot : blocks_.back().variables) live_[slot] = false;
    blocks_.pop_back();
  }

  // --- every lane arrives ---------------------------------------------------------------------------------------------------------

  // What makes a value differ between lanes: the first node that does so by itself.
  [[nodiscard]] std::string cause(NodeId id, const std::vector<Agreement>& agreement) const {
    const Node& node = kernel_.node(id);
    for (int i = 0; i < node.operand_count(); ++i) {
      const NodeId operand = node.operands[static_cast<std::size_t>(i)];
      if (agreement[operand] != Agreement::group) return cause(operand, agreement);
    }
    if (node.op == Op::read) return fmt::format("variable {}", node.slot);
    if (node.op == Op::load && node.space == Space::buffer)
      return fmt::format("buffer {}, which is written to", kernel_.buffers[node.slot].name);
    if (node.op == Op::load) return "shared memory";
    return std::string(to_string(node.op));
  }

  void check_convergence() const {
    const std::vector<Agreement> agreement = agreements(kernel_);
    std::vector<NodeId> control;  // per open block: what makes lanes differ there; kNoNode: nothing
    for (const Statement& statement : kernel_.body) {
      if (statement.kind == StatementKind::end) control.pop_back();
      if (statement.kind == StatementKind::loop || statement.kind == StatementKind::when) {
        NodeId divergent = control.empty() ? kNoNode : control.back();
        for (const NodeId operand : statement.operands) {
          if (operand != kNoNode && agreement[operand] != Agreement::group) divergent = operand;
        }
        control.push_back(divergent);
      }
      const bool exchanges = statement.kind == StatementKind::let && is_subgroup(kernel_.node(statement.target).op);
      const bool tile = statement.kind >= StatementKind::tile_fill;
      if ((exchanges || tile || statement.kind == StatementKind::barrier) && !control.empty() && control.back() != kNoNode) {
        refuse(fmt::format("{} stands where lanes of a group may differ: the condition or loop around it depends on {}",
                           exchanges ? to_string(kernel_.node(statement.target).op) : to_string(statement.kind),
                           cause(control.back(), agreement)));
      }
      if (!tile || statement.kind == StatementKind::tile_set) continue;
      for (const NodeId operand : statement.operands) {
        if (operand != kNoNode && agreement[operand] == Agreement::lane) {
          refuse(fmt::format("{}: lanes of a subgroup disagree on an operand, which depends on {}", to_string(statement.kind),
                             cause(operand, agreement)));
        }
      }
    }
  }

  const Kernel& kernel_;
  std::vector<int> depth_;
  std::vector<Block> blocks_;
  std::vector<bool> live_;
};

// --- the device -----------------------------------------------------------------------------------------------------------------------

class DeviceCheck {
 public:
  DeviceCheck(const Kernel& kernel, const DeviceCaps& caps) : kernel_(kernel), caps_(caps) {}

  void run() const {
    limit("lanes of a group", kernel_.group_size, caps_.max_group_size);
    limit("bytes of shared memory", kernel_.shared_bytes(), caps_.max_shared_bytes);
    limit("buffers", kernel_.buffers.size(), caps_.max_storage_buffers);
    limit("bytes of parameters", kernel_.parameters.size() * 4, caps_.max_parameter_bytes);
    for (const BufferArgument& buffer : kernel_.buffers) check_element(buffer.element, "buffer " + buffer.name);
    for (const SharedArray& array : kernel_.shared) check_element(array.element, "a shared array");
    for (const Type type : kernel_.variables) check_type(type, "a variable");
    for (const Node& node : kernel_.nodes) check(node);
    for (const Statement& statement : kernel_.body) check(statement);
  }

 private:
  void limit(std::string_view what, uint64_t wanted, uint64_t most) const {
    if (wanted > most) fail(ErrorCode::unsupported, "kernel {}: {} {}, but {} allows {}", kernel_.name, wanted, what, caps_.name, most);
  }
  void require(bool able, std::string_view who, std::string_view what) const {
    if (!able) fail(ErrorCode::unsupported, "kernel {}: {} needs {}, which {} does not have", kernel_.name, who, what, caps_.name);
  }

  void check_element(Element element, std::string_view who) const {
    switch (element) {
      case Element::i8:
      case Element::u8: return require(caps_.storage_8bit, who, "8-bit storage");
      case Element::i16:
      case Element::u16: return require(caps_.storage_16bit, who, "16-bit storage");
      case Element::f16: return require(caps_.storage_16bit && caps_.f16_arithmetic, who, "f16");
      case Element::bf16: return require(false, who, "bf16 that is not lowered");
      case Element::i64:
      case Element::f64: return check_type(register_type(element), who);
      case Element::i32:
      case Element::u32:
      case Element::f32: return;
    }
  }
  void check_type(Type type, std::string_view who) const {
    if (type == Type::i64) require(caps_.int64, who, "64-bit integers");
    if (type == Type::f64) require(caps_.f64_arithmetic, who, "f64");
    if (type == Type::f16) require(caps_.f16_arithmetic, who, "f16 arithmetic");
  }
  void check(const Node& node) const {
    check_type(node.type, to_string(node.op));
    if (node.op == Op::dot4) require(caps_.int8_dot, "dot4", "products of bytes");
    if (is_subgroup(node.op) || node.op == Op::subgroup_lane || node.op == Op::subgroup_id) check_subgroup(node.op);
  }
  void check_subgroup(Op op) const {
    const auto size = static_cast<int>(kernel_.subgroup_size);
    require(caps_.max_subgroup_size > 1, to_string(op), "subgroup operations");
    if (size < caps_.min_subgroup_size || size > caps_.max_subgroup_size) {
      fail(ErrorCode::unsupported, "kernel {}: subgroups of {}, but those of {} have {} to {} lanes", kernel_.name, size, caps_.name,
           caps_.min_subgroup_size, caps_.max_subgroup_size);
    }
  }
  void check(const Statement& statement) const {
    if (statement.kind == StatementKind::atomic && kernel_.element_of(statement.space, statement.slot) == Element::f32) {
      require(caps_.f32_atomic_add, "an atomic addition", "atomic additions of f32");
    }
    if (statement.kind != StatementKind::tile_multiply) return;
    const Tile &sum = kernel_.tiles[statement.slot], &left = kernel_.tiles[statement.left];
    const TileShape shape{sum.rows, sum.columns, left.columns};
    const bool able = std::find(caps_.tiles.begin(), caps_.tiles.end(), shape) != caps_.tiles.end();
    require(able, fmt::format("a product of tiles [{}, {}] x [{}, {}]", shape.m, shape.k, shape.k, shape.n), "matrix tiles of this shape");
  }

  const Kernel& kernel_;
  const DeviceCaps& caps_;
};

}  // namespace

void verify(const Kernel& kernel) { Verifier(kernel).run(); }

void verify(const Kernel& kernel, const DeviceCaps& caps) {
  verify(kernel);
  DeviceCheck(kernel, caps).run();
}

void verify_grid(const Kernel& kernel, Grid grid, const DeviceCaps& caps) {
  const std::array<uint32_t, 3> counts{grid.x, grid.y, grid.z};
  for (std::size_t d = 0; d < 3; ++d) {
    if (counts[d] == 0 || counts[d] > caps.max_group_count[d]) {
      fail(ErrorCode::unsupported, "kernel {}: {} groups in dimension {}, but {} takes 1 to {}: split the launch", kernel.name, counts[d],
           d, caps.name, caps.max_group_count[d]);
    }
  }
}

}  // namespace wick::ir
