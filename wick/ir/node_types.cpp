#include "wick/ir/node_types.h"

#include <cmath>

#include "wick/base/fail.h"
#include "wick/ir/arithmetic.h"

namespace wick::ir {
namespace {

std::string operand_list(const Kernel& kernel, const Node& node) {
  std::string text;
  for (int i = 0; i < node.operand_count(); ++i) {
    const Node& operand = kernel.node(node.operands[static_cast<std::size_t>(i)]);
    text += fmt::format("{}{}{}", i == 0 ? "" : ", ", to_string(operand.type), operand.lanes > 1 ? fmt::format("x{}", operand.lanes) : "");
  }
  return text;
}

// The checks of one node share these nouns.
struct NodeCheck {
  const Kernel& kernel;
  const Node& node;

  [[nodiscard]] const Node& operand(std::size_t i) const { return kernel.node(node.operands[i]); }
  [[nodiscard]] Type type(std::size_t i) const { return operand(i).type; }

  void require(bool holds, std::string_view rule) const {
    if (holds) return;
    fail(ErrorCode::dtype_mismatch, "kernel {}: {}({}) gives {}: {}", kernel.name, to_string(node.op), operand_list(kernel, node),
         to_string(node.type), rule);
  }
  void count(int wanted) const { require(node.operand_count() == wanted, fmt::format("it takes {} operands", wanted)); }
  void slot_below(std::size_t limit, std::string_view what) const {
    if (node.slot >= limit)
      fail(ErrorCode::invalid_argument, "kernel {}: {} names {} {} of {}", kernel.name, to_string(node.op), what, node.slot, limit);
  }
  void scalars() const {
    for (int i = 0; i < node.operand_count(); ++i) {
      require(operand(static_cast<std::size_t>(i)).lanes == 1, "vectors are only taken apart by lane and stored");
    }
    require(node.lanes == 1, "only load and vector give vectors");
  }
  void same_type(int operands) const {
    count(operands);
    for (int i = 0; i < operands; ++i) require(type(static_cast<std::size_t>(i)) == node.type, "operands and result have one type");
  }

  void constant() const {
    count(0);
    if (is_float(node.type) && !is_finite_constant(node.type, node.bits)) {
      fail(ErrorCode::invalid_argument,
           "kernel {}: a constant is infinite or not a number, which not every language can write; use lowest()", kernel.name);
    }
  }
  void leaf() const {
    count(0);
    if (node.op == Op::parameter) {
      slot_below(kernel.parameters.size(), "parameter");
      require(node.type == kernel.parameters[node.slot].type, "the parameter has another type");
    } else if (node.op == Op::group_id || node.op == Op::group_count) {
      slot_below(3, "dimension");
    }
    if (node.op != Op::parameter && node.op != Op::atomic_result) require(node.type == Type::u32, "it is a u32");
    if ((node.op == Op::subgroup_lane || node.op == Op::subgroup_id)) subgroup_size();
  }
  void subgroup_size() const {
    if (kernel.subgroup_size < 2) {
      fail(ErrorCode::invalid_argument, "kernel {}: {} in a kernel without a subgroup size", kernel.name, to_string(node.op));
    }
  }
  void conversion() const {
    count(1);
    const Type from = type(0), to = node.type;
    if (node.op == Op::bitcast) {
      const auto word = [](Type t) { return t == Type::i32 || t == Type::u32 || t == Type::f32; };
      const auto wide = [](Type t) { return t == Type::i64 || t == Type::f64; };
      require((word(from) && word(to)) || (wide(from) && wide(to)), "a bitcast is among i32, u32 and f32, or between i64 and f64");
    } else if (node.op == Op::unpack_half) {
      require(from == Type::u32 && to == Type::f32, "it takes a u32 and gives an f32");
    } else if (from == Type::f16 || to == Type::f16) {
      require(from == Type::f32 || to == Type::f32 || from == to, "f16 converts from and to f32");
    }
  }
  void vector_or_lane() const {
    const auto word = [](Type t) { return t == Type::i32 || t == Type::u32 || t == Type::f32; };
    if (node.op == Op::lane) {
      count(1);
      require(operand(0).lanes > 1 && node.lanes == 1 && type(0) == node.type, "it takes one lane out of a vector");
      slot_below(operand(0).lanes, "lane");
      return;
    }
    require(node.lanes == 2 || node.lanes == 4, "a vector has 2 or 4 lanes");
    require(word(node.type), "vectors are of i32, u32 or f32");
    same_type(node.lanes);
  }
  void load() const {
    slot_below(node.space == Space::buffer ? kernel.buffers.size() : kernel.shared.size(),
               node.space == Space::buffer ? "buffer" : "shared array");
    const Element element = kernel.element_of(node.space, node.slot);
    require(node.operand_count() == 1 || node.operand_count() == 3, "it takes an index, or an index, a gate and an alternative");
    require(type(0) == Type::u32 && operand(0).lanes == 1, "an index is a u32");
    require(node.type == register_type(element),
            fmt::format("an element of {} is read as {}", to_string(element), to_string(register_type(element))));
    if (node.operand_count() == 3) {
      require(type(1) == Type::b1 && type(2) == node.type && operand(2).lanes == 1,
              "a gate is a b1, an alternative has the element's type");
    }
    require(node.lanes == 1 || node.lanes == 2 || node.lanes == 4, "a vector has 2 or 4 lanes");
    require(node.lanes == 1 || info(element).bytes == 4, "vectors are of i32, u32 or f32");
  }
  void subgroup() const {
    same_type(1);
    scalars();
    subgroup_size();
    require(node.type == Type::i32 || node.type == Type::u32 || node.type == Type::f32, "it takes i32, u32 or f32");
    if (node.op != Op::subgroup_reduce) slot_below(kernel.subgroup_size, "subgroup lane");
  }
  // What is known to fault in every lane.
  void constant_operand() const {
    if (node.operand_count() != 2 || operand(1).op != Op::constant || !is_integer(node.type)) return;
    const uint64_t right = operand(1).bits;
    const bool shift = node.op == Op::shift_left || node.op == Op::shift_right;
    require(!shift || right < static_cast<uint64_t>(info(node.type).bytes) * 8, "an integer is shifted by its width or more");
    require((node.op != Op::divide && node.op != Op::remainder) || right != 0, "an integer is divided by zero");
  }
  void arithmetic() const {
    scalars();
    constant_operand();
    const Type t = node.type;
    switch (node.op) {
      case Op::negate: same_type(1); return require(t != Type::b1, "a b1 has no sign");
      case Op::logical_not: same_type(1); return require(!is_float(t), "it takes b1 or integers");
      case Op::absolute:
      case Op::truncate:
      case Op::square_root: same_type(1); return require(is_float(t), "it takes floats");
      case Op::exp2:
      case Op::log2:
      case Op::sine: same_type(1); return require(t == Type::f16 || t == Type::f32, "it takes f16 or f32");
      case Op::add:
      case Op::subtract:
      case Op::multiply:
      case Op::divide:
      case Op::minimum:
      case Op::maximum: same_type(2); return require(t != Type::b1, "a b1 is no number");
      case Op::remainder: same_type(2); return require(is_integer(t), "it takes integers");
      case Op::bit_and:
      case Op::bit_or:
      case Op::bit_xor: same_type(2); return require(!is_float(t), "it takes b1 or integers");
      case Op::shift_left:
      case Op::shift_right:
        count(2);
        return require(is_integer(t) && type(0) == t && type(1) == Type::u32, "it takes an integer and a u32");
      case Op::less:
      case Op::less_equal:
        count(2);
        return require(t == Type::b1 && type(0) == type(1) && type(0) != Type::b1, "it compares two numbers of one type");
      case Op::equal: count(2); return require(t == Type::b1 && type(0) == type(1), "it compares two values of one type");
      case Op::fma: same_type(3); return require(is_float(t), "it takes floats");
      case Op::select:
        count(3);
        return require(type(0) == Type::b1 && type(1) == t && type(2) == t, "it takes a b1 and two values of one type");
      case Op::dot4:
        count(3);
        return require(t == Type::i32 && type(0) == Type::u32 && type(1) == Type::u32 && type(2) == Type::i32, "it takes u32, u32, i32");
      case Op::fma_halves:
        count(3);
        return require(t == Type::u32 && type(0) == t && type(1) == t && type(2) == t, "it takes three u32 and gives a u32");
      case Op::pack_halves:
        count(2);
        return require(t == Type::u32 && type(0) == Type::f32 && type(1) == Type::f32, "it takes two f32 and gives a u32");
      default: fail(ErrorCode::invalid_argument, "kernel {}: a node of no kind", kernel.name);
    }
  }
};

}  // namespace

void check_node(const Kernel& kernel, const Node& node) {
  const NodeCheck check{kernel, node};
  if (node.op == Op::constant) return check.constant();
  if (is_leaf(node.op)) return check.leaf();
  switch (node.op) {
    case Op::cast:
    case Op::bitcast:
    case Op::unpack_half: check.scalars(); return check.conversion();
    case Op::vector:
    case Op::lane: return check.vector_or_lane();
    case Op::load: return check.load();
    case Op::read:
      check.slot_below(kernel.variables.size(), "variable");
      return check.require(node.type == kernel.variables[node.slot], "the variable has another type");
    case Op::subgroup_reduce:
    case Op::subgroup_shuffle_xor:
    case Op::subgroup_broadcast: return check.subgroup();
    default: return check.arithmetic();
  }
}

namespace {

// The checks of one statement share these nouns.
struct StatementCheck {
  const Kernel& kernel;
  const Statement& statement;

  void require(bool holds, std::string_view rule, ErrorCode code = ErrorCode::dtype_mismatch) const {
    if (!holds) fail(code, "kernel {}: {}: {}", kernel.name, to_string(statement.kind), rule);
  }
  [[nodiscard]] bool has(std::size_t i) const { return statement.operands[i] != kNoNode; }
  [[nodiscard]] const Node& operand(std::size_t i) const {
    require(has(i) && statement.operands[i] < kernel.nodes.size(), "an operand is missing", ErrorCode::invalid_argument);
    return kernel.node(statement.operands[i]);
  }
  void scalar(std::size_t i, Type type, std::string_view what) const {
    require(operand(i).type == type && operand(i).lanes == 1,
            fmt::format("{} is a {}, not a {}", what, to_string(type), to_string(operand(i).type)));
  }
  [[nodiscard]] Element memory(uint32_t slot, bool written) const {
    const bool buffer = statement.space == Space::buffer;
    require(slot < (buffer ? kernel.buffers.size() : kernel.shared.size()), "it names memory that is not there",
            ErrorCode::invalid_argument);
    if (written && buffer && kernel.buffers[slot].access == Access::read) {
      fail(ErrorCode::invalid_argument, "kernel {}: {} to buffer {}, which is only read", kernel.name, to_string(statement.kind),
           kernel.buffers[slot].name);
    }
    return kernel.element_of(statement.space, slot);
  }
  void store() const {
    const Element element = memory(statement.slot, true);
    scalar(0, Type::u32, "an index");
    require(operand(1).type == register_type(element), fmt::format("an element of {} is written as {}, not {}", to_string(element),
                                                                   to_string(register_type(element)), to_string(operand(1).type)));
    require(operand(1).lanes == 1 || info(element).bytes == 4, "vectors are of i32, u32 or f32");
    if (has(2)) scalar(2, Type::b1, "a gate");
  }
  void atomic() const {
    const Element element = memory(statement.slot, true);
    scalar(0, Type::u32, "an index");
    const bool adds_f32 = element == Element::f32 && statement.atomic == AtomicOp::add;
    require(element == Element::i32 || element == Element::u32 || adds_f32, "atomics are of i32 and u32, and additions of f32");
    scalar(1, register_type(element), "the operand");
    require(statement.target < kernel.nodes.size() && kernel.node(statement.target).op == Op::atomic_result &&
                kernel.node(statement.target).type == register_type(element),
            "the result has the element's type");
  }
  [[nodiscard]] const Tile& tile(uint32_t slot) const {
    require(slot < kernel.tiles.size(), "it names a tile that is not there", ErrorCode::invalid_argument);
    if (kernel.subgroup_size < 2) fail(ErrorCode::invalid_argument, "kernel {}: tiles in a kernel without a subgroup size", kernel.name);
    return kernel.tiles[slot];
  }
  void tile_set() const {
    const Tile& set = tile(statement.slot);
    if (set.role == TileRole::accumulator) {
      check_lane_sums(set);
      return require(operand(0).type == Type::f32 && operand(0).lanes == kLaneTileSums, "the value is a vector of four f32");
    }
    const uint32_t words = set.role == TileRole::left ? 4 : 2;
    const bool left = set.role == TileRole::left && set.rows == kLaneTile.m && set.columns == kLaneTile.k;
    const bool right = set.role == TileRole::right && set.rows == kLaneTile.k && set.columns == kLaneTile.n;
    require((left || right) && set.element == Element::f16 && kernel.subgroup_size == kLaneTileLanes,
            fmt::format("lanes set left tiles of [{0}, {2}] and right ones of [{2}, {1}] of f16, in subgroups of {3}", kLaneTile.m,
                        kLaneTile.n, kLaneTile.k, kLaneTileLanes));
    require(operand(0).type == Type::u32 && operand(0).lanes == words, fmt::format("the value is a vector of {} u32", words));
  }
  void check_lane_sums(const Tile& sums) const {
    require(sums.role == TileRole::accumulator && sums.rows == kLaneTile.m && sums.columns == kLaneTile.n &&
                kernel.subgroup_size == kLaneTileLanes,
            fmt::format("lanes have elements of accumulators [{}, {}], in subgroups of {}", kLaneTile.m, kLaneTile.n, kLaneTileLanes));
  }
  void tile_get() const {
    check_lane_sums(tile(statement.slot));
    require(statement.source < kernel.variables.size(), "it names a variable that is not there", ErrorCode::invalid_argument);
    require(kernel.variables[statement.source] == Type::f32 && statement.left < kLaneTileSums, "a f32 takes one of four elements");
  }
  void tile_memory(bool written) const {
    const Tile& moved = tile(statement.slot);
    const Element held = memory(statement.source, written);
    const bool words = !written && held == Element::u32 && moved.element == Element::f16 && moved.columns % 2 == 0;
    require(held == moved.element || words, "tile and memory hold one element type, or the memory words of two f16");
    scalar(0, Type::u32, "an index");
    scalar(1, Type::u32, "a row stride");
    require(!written || moved.role == TileRole::accumulator, "only accumulators are stored");
  }
  void tile_multiply() const {
    const Tile &sum = tile(statement.slot), &left = tile(statement.left), &right = tile(statement.right);
    require(sum.role == TileRole::accumulator && left.role == TileRole::left && right.role == TileRole::right,
            "accumulator += left x right");
    require(left.rows == sum.rows && right.columns == sum.columns && left.columns == right.rows,
            fmt::format("[{}, {}] x [{}, {}] does not give [{}, {}]", left.rows, left.columns, right.rows, right.columns, sum.rows,
                        sum.columns),
            ErrorCode::shape_mismatch);
    require(sum.element == Element::f32 && left.element == Element::f16 && right.element == Element::f16, "f16 x f16 into f32");
  }
  void tile_scale() const {
    const Tile &scaled = tile(statement.slot), &factors = tile(statement.left);
    require(scaled.role == TileRole::accumulator && factors.role == TileRole::accumulator, "only accumulators are scaled, by accumulators");
    require(scaled.rows == factors.rows && scaled.columns == factors.columns,
            fmt::format("[{}, {}] is not [{}, {}]", scaled.rows, scaled.columns, factors.rows, factors.columns), ErrorCode::shape_mismatch);
  }
};

}  // namespace

void check_statement(const Kernel& kernel, const Statement& statement) {
  const StatementCheck check{kernel, statement};
  switch (statement.kind) {
    case StatementKind::comment:
      return check.require(statement.text.find_first_of("\n\r\\*/") == std::string::npos, "a comment is one line without '*', '/' and '\\'",
                           ErrorCode::invalid_argument);
    case StatementKind::let:
      return check.require(statement.target < kernel.nodes.size(), "it names a node that is not there", ErrorCode::invalid_argument);
    case StatementKind::variable:
    case StatementKind::assign:
      check.require(statement.slot < kernel.variables.size(), "it names a variable that is not there", ErrorCode::invalid_argument);
      return check.scalar(0, kernel.variables[statement.slot], "the value");
    case StatementKind::store: return check.store();
    case StatementKind::atomic: return check.atomic();
    case StatementKind::loop:
      check.scalar(0, Type::u32, "a loop's begin");
      check.scalar(1, Type::u32, "a loop's end");
      return check.require(statement.step > 0, "a step of 0 never ends", ErrorCode::invalid_argument);
    case StatementKind::when: return check.scalar(0, Type::b1, "a condition");
    case StatementKind::end:
    case StatementKind::barrier: return;
    case StatementKind::tile_fill: return (void)check.tile(statement.slot), check.scalar(0, Type::f32, "the value");
    case StatementKind::tile_set: return check.tile_set();
    case StatementKind::tile_get: return check.tile_get();
    case StatementKind::tile_load: return check.tile_memory(false);
    case StatementKind::tile_multiply: return check.tile_multiply();
    case StatementKind::tile_scale: return check.tile_scale();
    case StatementKind::tile_store: return check.tile_memory(true);
  }
}

void check_name(const Kernel& kernel, std::string_view what, std::string_view name) {
  bool right = !name.empty() && name.size() <= 64 && name.front() >= 'a' && name.front() <= 'z' && name.back() != '_';
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    right = right && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c == '_' && name[i - 1] != '_'));
  }
  if (!right) {
    fail(ErrorCode::invalid_argument, "kernel {}: {} '{}': names are lower-case words and digits joined by single underscores", kernel.name,
         what, name);
  }
}

}  // namespace wick::ir
