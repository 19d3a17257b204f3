#include "wick/base/half.h"
#include "wick/ir/lowering.h"
#include "wick/ir/rebuild.h"

namespace wick::ir {

Value pack_half(const Value& value) {
  const Value word = bitcast(Type::u32, value);
  const Value sign = (word >> 16) & 0x8000U, magnitude = word & 0x7fffffffU;
  // The exponent moves by 112; adding half a last bit, and the last bit itself, rounds ties to even.
  const Value normal = (magnitude + 0xfffU + ((magnitude >> 13) & 1U) - 0x38000000U) >> 13;
  // Below 2^-14: adding 0.5 puts the last bit of the subnormal at the last bit of the sum.
  const Value subnormal = bitcast(Type::u32, bitcast(Type::f32, magnitude) + 0.5F) - 0x3f000000U;
  const Value finite = select(magnitude < 0x38800000U, subnormal, normal);
  const Value number = select(magnitude >= 0x477ff000U, value.builder()->constant(0x7c00U), finite);
  return sign | select(magnitude > 0x7f800000U, value.builder()->constant(0x7e00U), number);
}

Value pack_bf16(const Value& value) {
  const Value word = bitcast(Type::u32, value);
  const Value rounded = (word + 0x7fffU + ((word >> 16) & 1U)) >> 16;
  return select((word & 0x7fffffffU) > 0x7f800000U, (word >> 16) | 0x40U, rounded);
}

namespace {

class HalfLowering final : public Rebuild {
 public:
  HalfLowering(const Kernel& source, bool elements, bool arithmetic) : Rebuild(source), elements_(elements), arithmetic_(arithmetic) {}

 protected:
  Element element(Space /*space*/, uint32_t /*slot*/, Element old) override {
    return old == Element::bf16 || (old == Element::f16 && elements_) ? Element::u16 : old;
  }

  Value expression(const Node& node) override {
    if (node.op == Op::load && changes(source_.element_of(node.space, node.slot))) return load(node);
    if (!arithmetic_) return copy(node);
    const bool from_half = node.operands[0] != kNoNode && old_node(node.operands[0]).type == Type::f16;
    if (node.type != Type::f16) return node.op == Op::cast && from_half ? value(node.operands[0]) : copy(node);
    if (node.op == Op::constant) return builder_.constant(f16_value(node));
    if (node.op == Op::cast) return rounded(value(node.operands[0]));
    Node wide = node;
    wide.type = Type::f32;
    return is_exact(node.op) ? copy(wide) : rounded(copy(wide));
  }

  void statement(std::size_t index) override {
    const Statement& s = source_.body[index];
    if (s.kind != StatementKind::store || !changes(source_.element_of(s.space, s.slot))) return copy_statement(index);
    const Value bits = stored_bits(source_.element_of(s.space, s.slot), s.operands[1]);
    if (s.operands[2] == kNoNode) return memory(s.space, s.slot).store(value(s.operands[0]), bits);
    memory(s.space, s.slot).store_if(value(s.operands[2]), value(s.operands[0]), bits);
  }

 private:
  [[nodiscard]] bool changes(Element e) const { return e == Element::bf16 || (e == Element::f16 && elements_); }
  static float f16_value(const Node& node) { return f16_bits_to_float(static_cast<uint16_t>(node.bits)); }
  static Value rounded(const Value& v) { return unpack_half(pack_half(v)); }
  // Results that are among the operands, or whole numbers of no more bits.
  static bool is_exact(Op op) {
    return op == Op::negate || op == Op::absolute || op == Op::minimum || op == Op::maximum || op == Op::select || op == Op::truncate;
  }

  // A gated load of bits, and the alternative beside it: the alternative is a float, not bits.
  Value load(const Node& node) {
    const bool is_bf16 = source_.element_of(node.space, node.slot) == Element::bf16;
    const Memory from = memory(node.space, node.slot);
    const Value index = value(node.operands[0]);
    const auto decode = [&](const Value& bits) {
      if (is_bf16) return bitcast(Type::f32, bits << 16);
      const Value number = unpack_half(bits);
      return arithmetic_ ? number : cast(Type::f16, number);
    };
    if (node.operands[1] == kNoNode) return decode(from.load(index));
    const Value gate = value(node.operands[1]);
    return select(gate, decode(from.load_if(gate, index, 0)), value(node.operands[2]));
  }

  Value stored_bits(Element element, NodeId old) {
    if (element == Element::bf16) return pack_bf16(value(old));
    const Node& node = old_node(old);
    // The cast that made the f16 is what pack_half does.
    if (node.op == Op::cast) return pack_half(value(node.operands[0]));
    return pack_half(arithmetic_ ? value(old) : cast(Type::f32, value(old)));
  }

  bool elements_, arithmetic_;
};

}  // namespace

Kernel lower_halves(const Kernel& kernel, const DeviceCaps& caps) {
  return HalfLowering(kernel, !(caps.f16_arithmetic && caps.storage_16bit), !caps.f16_arithmetic).run();
}

}  // namespace wick::ir
