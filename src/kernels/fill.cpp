#include "kernels/fill.h"

#include <fmt/format.h>

#include "base/error.h"
#include "kernels/group_options.h"
#include "kernels/strided.h"

namespace wick::kernels {

using ir::Element;
using ir::KernelBuilder;
using ir::Memory;
using ir::Type;
using ir::Value;

namespace {

// Eight bytes are two words, so that devices without 64-bit integers have them too.
Element element_of_bytes(uint32_t bytes) { return bytes == 1 ? Element::u8 : bytes == 2 ? Element::u16 : Element::u32; }

}  // namespace

ir::Kernel fill(uint32_t element_bytes, uint32_t rank, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("fill_{}_r{}", element_bytes, rank), {.group_size = group_options(caps, 256).group_size});
  const Memory y = k.output("y", element_of_bytes(element_bytes));
  StridedGrid grid(k, rank);
  const StridedGrid::View view = grid.view("y");
  const Value low = k.parameter("low", Type::u32), high = k.parameter("high", Type::u32);
  grid.run([&](const StridedGrid::Place& place) {
    if (element_bytes < 8) return y.store(place(view), low);
    y.store(place(view) * 2U, low);
    y.store(place(view) * 2U + 1U, high);
  });
  return k.finish();
}

}  // namespace wick::kernels
