#include <optional>

#include "wick/ir/arithmetic.h"
#include "wick/ir/passes.h"
#include "wick/ir/rebuild.h"

namespace wick::ir {
namespace {

class Fold final : public Rebuild {
 public:
  using Rebuild::Rebuild;

 protected:
  Value expression(const Node& node) override {
    if (node.op == Op::load) return load(node);
    if (is_leaf(node.op) || is_read(node.op) || node.op == Op::vector || node.op == Op::lane) return copy(node);
    std::array<Value, 3> operands;
    bool known = node.op != Op::exp2 && node.op != Op::log2 && node.op != Op::sine;
    for (int i = 0; i < node.operand_count(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      operands[at] = value(node.operands[at]);
      known = known && constant(operands[at]).has_value();
    }
    if (known) {
      if (const Value result = computed(node, operands); result.builder() != nullptr) return result;
    }
    if (const Value same = identity(node, operands); same.builder() != nullptr) return same;
    return copy(node);
  }

  void statement(std::size_t index) override {
    const Statement& old = source_.body[index];
    if (old.kind == StatementKind::when) {
      if (const auto condition = constant(value(old.operands[0]))) {
        if (condition->bits != 0) copy_block(index + 1, end_of(index));
        return;
      }
    }
    if (old.kind == StatementKind::loop) {
      const auto begin = constant(value(old.operands[0])), end = constant(value(old.operands[1]));
      if (begin && end && begin->bits >= end->bits) return;
      if (begin && end && begin->bits + old.step >= end->bits) {
        set_value(old.target, value(old.operands[0]));
        return copy_block(index + 1, end_of(index));
      }
    }
    if (old.kind == StatementKind::store && old.operands[2] != kNoNode) {
      if (const auto gate = constant(value(old.operands[2]))) {
        if (gate->bits == 0) return;
        Statement open = old;
        open.operands = {value(old.operands[0]).id(), value(old.operands[1]).id(), kNoNode};
        return builder_.append(std::move(open));
      }
    }
    copy_statement(index);
  }

 private:
  // The constant that a value is, by value: the builder's nodes move when it makes more.
  [[nodiscard]] std::optional<Node> constant(const Value& value) const {
    const Node& node = builder_.kernel().node(value.id());
    return node.op == Op::constant ? std::optional(node) : std::nullopt;
  }
  [[nodiscard]] bool is(const Value& value, int number) const {
    const std::optional<Node> node = constant(value);
    if (!node || node->type == Type::b1) return false;
    return node->bits == (is_float(node->type) ? bits_of_real(node->type, number) : bits_of_whole(node->type, number));
  }

  Value computed(const Node& node, const std::array<Value, 3>& operands) {
    const uint8_t active = 1;
    std::array<Bits, 3> bits{};
    for (std::size_t i = 0; i < 3; ++i) {
      if (operands[i].builder() != nullptr) bits[i] = constant(operands[i])->bits;
    }
    Bits result = 0;
    const Fault fault = evaluate(node, operands[0].type(), {&active, 1}, {&bits[0], 1}, {&bits[1], 1}, {&bits[2], 1}, {&result, 1});
    if (fault.kind != FaultKind::none || (is_float(node.type) && !is_finite_constant(node.type, result))) return {};
    return builder_.constant_bits(node.type, result);
  }

  // x where the node is x whatever x is. Sums of floats are not among them: -0 + 0 is 0.
  Value identity(const Node& node, const std::array<Value, 3>& operands) {
    const auto& [a, b, c] = operands;
    const bool whole = is_integer(node.type);
    switch (node.op) {
      case Op::add:
      case Op::bit_or:
      case Op::bit_xor:
        if (whole && is(a, 0)) return b;
        return whole && is(b, 0) ? a : Value();
      case Op::subtract:
      case Op::shift_left:
      case Op::shift_right: return is(b, 0) ? a : Value();
      case Op::multiply:
        if (whole && (is(a, 0) || is(b, 1))) return a;
        if (whole && (is(b, 0) || is(a, 1))) return b;
        return is(b, 1) ? a : is(a, 1) ? b : Value();
      case Op::divide: return is(b, 1) ? a : Value();
      case Op::bit_and:
        if (whole && is(a, 0)) return a;
        return whole && is(b, 0) ? b : Value();
      case Op::select: {
        if (b.id() == c.id()) return b;
        const auto condition = constant(a);
        return !condition ? Value() : condition->bits != 0 ? b : c;
      }
      default: return {};
    }
  }

  Value load(const Node& node) {
    if (node.operands[1] == kNoNode) return copy(node);
    const auto gate = constant(value(node.operands[1]));
    if (!gate || (gate->bits == 0 && node.lanes > 1)) return copy(node);
    if (gate->bits == 0) return value(node.operands[2]);
    Node open = node;
    open.operands = {node.operands[0], kNoNode, kNoNode, kNoNode};
    return copy(open);
  }
};

}  // namespace

Kernel fold_constants(const Kernel& kernel) { return Fold(kernel).run(); }

}  // namespace wick::ir
