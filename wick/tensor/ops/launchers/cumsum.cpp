#include "wick/kernels/cumsum.h"

#include "wick/tensor/ops/launchers/launcher.h"
#include "wick/tensor/ops/launchers/launchers.h"

namespace wick::launchers {

void cumsum(const OpCall& call) {
  const Operand& x = call.inputs[0];
  const Operand& y = call.outputs[0];
  const int last = x.layout->rank() - 1;
  // The rows, by their first elements.
  const Layout from = x.layout->narrow(last, 0, 1), to = y.layout->narrow(last, 0, 1);
  const Operand source{x.buffer, x.dtype, &from}, target{y.buffer, y.dtype, &to};
  launch_strided_groups(
      *call.runtime, {"cumsum", {number_of(x.dtype)}}, [&](uint32_t rank) { return kernels::cumsum(x.dtype, rank, call.runtime->caps()); },
      {&source, &target}, Arguments().size(x.layout->shape()[last]).stride(x.layout->stride(last)).stride(y.layout->stride(last)));
}

}  // namespace wick::launchers
