#include "wick/ir/lowering.h"
#include "wick/ir/passes.h"
#include "wick/ir/rebuild.h"
#include "wick/ir/verify.h"

namespace wick::ir {
namespace {

class DotLowering final : public Rebuild {
 public:
  using Rebuild::Rebuild;

 protected:
  Value expression(const Node& node) override {
    if (node.op != Op::dot4) return copy(node);
    const Value a = value(node.operands[0]), b = value(node.operands[1]);
    Value sum = value(node.operands[2]);
    for (uint32_t byte = 0; byte < 4; ++byte) sum = sum + signed_byte(a, byte) * signed_byte(b, byte);
    return sum;
  }

 private:
  static Value signed_byte(const Value& word, uint32_t byte) {
    return bitcast(Type::i32, byte == 3 ? word : word << (24 - 8 * byte)) >> 24;
  }
};

}  // namespace

Kernel lower_dot4(const Kernel& kernel, const DeviceCaps& caps) { return caps.int8_dot ? kernel : DotLowering(kernel).run(); }

Kernel lower(const Kernel& kernel, const DeviceCaps& caps) {
  Kernel lowered = lower_packed_halves(lower_tiles(kernel, caps), caps);
  lowered = lower_subgroups(lowered, caps);
  lowered = lower_dot4(lowered, caps);
  lowered = lower_halves(lowered, caps);
  return lower_narrow_elements(lowered, caps);
}

Kernel prepare(const Kernel& kernel, const DeviceCaps& caps) {
  verify(kernel);
  const Kernel lowered = fold_constants(lower(kernel, caps));
  verify(lowered, caps);
  return schedule(lowered);
}

}  // namespace wick::ir
