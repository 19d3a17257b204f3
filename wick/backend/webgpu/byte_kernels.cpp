#include "wick/backend/webgpu/byte_kernels.h"

#include "wick/ir/builder.h"

namespace wick::webgpu {
namespace {

using ir::Element;
using ir::KernelBuilder;
using ir::Memory;
using ir::Type;
using ir::Value;
using ir::Variable;

// Writes `byte(i)`, a u32 below 256, to byte i of the target's `bytes` from `first` on.
template <class Byte>
void write_bytes(KernelBuilder& k, const Memory& target, const Value& first, const Value& bytes, const Byte& byte) {
  const Value lane = (k.group_id(1) * k.group_count(0) + k.group_id(0)) * kByteKernelLanes + k.local_id();
  const Value word = first / 4U + lane;
  const Value skipped = first & 3U;  // bytes of the first word that stay
  k.when(lane * 4U < skipped + bytes, [&] {
    Variable result = k.variable(target.load(word));
    for (uint32_t i = 0; i < 4; ++i) {
      const Value place = lane * 4U + i;
      k.when((skipped <= place) & (place < skipped + bytes), [&] {
        const Value kept = Value(result) & ~k.constant(0xffU << 8 * i);
        result = kept | byte(place - skipped) << (8 * i);
      });
    }
    target.store(word, Value(result));
  });
}

}  // namespace

ir::Kernel copy_bytes_kernel() {
  KernelBuilder k("copy_bytes", {.group_size = kByteKernelLanes});
  const Memory source = k.buffer("source", Element::u32), target = k.output("target", Element::u32);
  const Value from = k.parameter("source_first", Type::u32), first = k.parameter("target_first", Type::u32);
  const Value bytes = k.parameter("bytes", Type::u32);
  write_bytes(k, target, first, bytes, [&](const Value& i) {
    const Value place = from + i;
    return source.load(place / 4U) >> (place % 4U) * 8U & 0xffU;
  });
  return k.finish();
}

ir::Kernel fill_bytes_kernel() {
  KernelBuilder k("fill_bytes", {.group_size = kByteKernelLanes});
  const Memory target = k.output("target", Element::u32);
  const Value first = k.parameter("target_first", Type::u32), bytes = k.parameter("bytes", Type::u32);
  const Value value = k.parameter("value", Type::u32);
  write_bytes(k, target, first, bytes, [&](const Value& /*i*/) { return value; });
  return k.finish();
}

}  // namespace wick::webgpu
