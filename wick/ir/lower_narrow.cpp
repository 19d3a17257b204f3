#include "wick/ir/lowering.h"
#include "wick/ir/rebuild.h"

namespace wick::ir {
namespace {

class NarrowLowering final : public Rebuild {
 public:
  NarrowLowering(const Kernel& source, const DeviceCaps& caps) : Rebuild(source), caps_(caps) {}

 protected:
  Element element(Space /*space*/, uint32_t /*slot*/, Element old) override { return lacks(old) ? Element::u32 : old; }
  uint32_t shared_count(uint32_t slot) override {
    const SharedArray& array = source_.shared[slot];
    return lacks(array.element) ? (array.count + parts(array.element) - 1) / parts(array.element) : array.count;
  }

  void begin() override {
    // Setting bits needs words that hold something.
    bool any = false;
    for (uint32_t slot = 0; slot < source_.shared.size(); ++slot) {
      if (!lacks(source_.shared[slot].element)) continue;
      any = true;
      builder_.loop(builder_.local_id(), shared_count(slot), source_.group_size,
                    [&](const Value& i) { memory(Space::shared, slot)[i] = 0; });
    }
    if (any) builder_.barrier();
  }

  Value expression(const Node& node) override {
    if (node.op != Op::load || !lacks(source_.element_of(node.space, node.slot))) return copy(node);
    const Element element = source_.element_of(node.space, node.slot);
    const Value index = value(node.operands[0]);
    if (node.operands[1] == kNoNode) return part(element, index, word(node, index / parts(element)));
    const Value gate = value(node.operands[1]), alternative = value(node.operands[2]);
    if (!written(node))
      return select(gate, part(element, index, memory(node.space, node.slot).load_if(gate, index / parts(element), 0)), alternative);
    Variable result = builder_.variable(alternative);
    builder_.when(gate, [&] { result = part(element, index, word(node, index / parts(element))); });
    return result;
  }

  void statement(std::size_t index) override {
    const Statement& s = source_.body[index];
    if (s.kind != StatementKind::store || !lacks(source_.element_of(s.space, s.slot))) return copy_statement(index);
    const Value at = value(s.operands[0]), stored = value(s.operands[1]);
    if (s.operands[2] == kNoNode) return store(s, at, stored);
    builder_.when(value(s.operands[2]), [&] { store(s, at, stored); });
  }

 private:
  [[nodiscard]] bool lacks(Element element) const {
    if (!is_narrow(element)) return false;
    return info(element).bytes == 1 ? !caps_.storage_8bit : !caps_.storage_16bit;
  }
  static uint32_t parts(Element element) { return 4U / static_cast<uint32_t>(info(element).bytes); }
  static uint32_t width(Element element) { return 8U * static_cast<uint32_t>(info(element).bytes); }
  static Value shift_of(Element element, const Value& index) { return index % parts(element) * width(element); }

  [[nodiscard]] bool written(const Node& node) const {
    return node.space == Space::shared || source_.buffers[node.slot].access == Access::read_write;
  }
  Value word(const Node& node, const Value& index) {
    const Memory words = memory(node.space, node.slot);
    return written(node) ? words.atomic(AtomicOp::bit_or, index, 0) : words.load(index);
  }

  // Sign or zeros come in from above.
  static Value part(Element element, const Value& index, const Value& word) {
    const uint32_t rest = 32 - width(element);
    const Value high = (word >> shift_of(element, index)) << rest;
    return register_type(element) == Type::i32 ? bitcast(Type::i32, high) >> rest : high >> rest;
  }

  void store(const Statement& s, const Value& index, const Value& stored) {
    const Element element = source_.element_of(s.space, s.slot);
    const Value mask = builder_.constant(width(element) == 8 ? 0xffU : 0xffffU);
    const Value shift = shift_of(element, index), at = index / parts(element);
    const Memory words = memory(s.space, s.slot);
    (void)words.atomic(AtomicOp::bit_and, at, ~(mask << shift));
    (void)words.atomic(AtomicOp::bit_or, at, (bitcast(Type::u32, stored) & mask) << shift);
  }

  const DeviceCaps& caps_;
};

}  // namespace

Kernel lower_narrow_elements(const Kernel& kernel, const DeviceCaps& caps) {
  if (caps.storage_8bit && caps.storage_16bit) return kernel;
  return NarrowLowering(kernel, caps).run();
}

}  // namespace wick::ir
