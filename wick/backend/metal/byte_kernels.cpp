#include "wick/backend/metal/byte_kernels.h"

#include <string>

#include "wick/ir/builder.h"

namespace wick::metal {
namespace {

using ir::Element;
using ir::KernelBuilder;
using ir::Memory;
using ir::Type;
using ir::Value;

std::string name_of(const char* what, Element element) { return std::string(what) + (element == Element::u8 ? "_bytes" : "_words"); }

Value lane_of_all(KernelBuilder& k) { return (k.group_id(1) * k.group_count(0) + k.group_id(0)) * kByteKernelLanes + k.local_id(); }

}  // namespace

ir::Kernel copy_kernel(Element element) {
  KernelBuilder k(name_of("copy", element), {.group_size = kByteKernelLanes});
  const Memory source = k.buffer("source", element), target = k.output("target", element);
  const Value from = k.parameter("source_first", Type::u32), first = k.parameter("target_first", Type::u32);
  const Value count = k.parameter("count", Type::u32);
  const Value i = lane_of_all(k);
  k.when(i < count, [&] { target.store(first + i, source.load(from + i)); });
  return k.finish();
}

ir::Kernel fill_kernel(Element element) {
  KernelBuilder k(name_of("fill", element), {.group_size = kByteKernelLanes});
  const Memory target = k.output("target", element);
  const Value first = k.parameter("target_first", Type::u32), count = k.parameter("count", Type::u32);
  const Value value = k.parameter("value", Type::u32);
  const Value i = lane_of_all(k);
  k.when(i < count, [&] { target.store(first + i, value); });
  return k.finish();
}

}  // namespace wick::metal
