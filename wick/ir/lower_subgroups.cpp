#include "wick/ir/lowering.h"
#include "wick/ir/rebuild.h"

namespace wick::ir {
namespace {

class SubgroupLowering final : public Rebuild {
 public:
  using Rebuild::Rebuild;

 protected:
  Value expression(const Node& node) override {
    const uint32_t size = source_.subgroup_size;
    if (node.op == Op::subgroup_lane) return builder_.local_id() % size;
    if (node.op == Op::subgroup_id) return builder_.local_id() / size;
    if (!is_subgroup(node.op)) return copy(node);
    if (scratch_.empty()) scratch_.push_back(builder_.shared(Element::u32, source_.group_size));
    const Memory scratch = scratch_.front();
    const Value t = builder_.local_id();
    scratch[t] = bitcast(Type::u32, value(node.operands[0]));
    builder_.barrier();
    const Value result =
        node.op == Op::subgroup_reduce ? reduce(node, scratch, t - t % size) : bitcast(node.type, scratch[source_of(node, t)]);
    builder_.barrier();  // the next exchange may write scratch again
    return result;
  }

 private:
  Value source_of(const Node& node, const Value& t) {
    if (node.op == Op::subgroup_shuffle_xor) return t ^ node.slot;  // stays in the subgroup: the mask is below its size, a power of two
    return t - t % source_.subgroup_size + node.slot;
  }

  Value reduce(const Node& node, const Memory& scratch, const Value& first) {
    Variable sum = builder_.variable(bitcast(node.type, scratch[first]));
    builder_.loop(1, source_.subgroup_size, 1, [&](const Value& i) {
      const Value next = bitcast(node.type, scratch[first + i]);
      sum = node.reduce == Reduce::add ? sum + next : node.reduce == Reduce::minimum ? min(sum, next) : max(sum, next);
    });
    return sum;
  }

  std::vector<Memory> scratch_;  // none or one
};

}  // namespace

Kernel lower_subgroups(const Kernel& kernel, const DeviceCaps& caps) {
  const auto size = static_cast<int>(kernel.subgroup_size);
  const bool has = caps.max_subgroup_size > 1 && size >= caps.min_subgroup_size && size <= caps.max_subgroup_size;
  if (has || size == 0) return kernel;
  Kernel lowered = SubgroupLowering(kernel).run();
  lowered.subgroup_size = 0;
  return lowered;
}

}  // namespace wick::ir
