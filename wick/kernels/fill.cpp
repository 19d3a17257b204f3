#include "wick/kernels/fill.h"

#include <fmt/format.h>

#include "wick/kernels/group_options.h"
#include "wick/kernels/numbers.h"
#include "wick/kernels/strided.h"

namespace wick::kernels {

using namespace ir;

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
