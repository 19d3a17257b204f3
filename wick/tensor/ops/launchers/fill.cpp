#include <bit>

#include "wick/base/half.h"
#include "wick/kernels/fill.h"
#include "wick/tensor/ops/launchers/launcher.h"
#include "wick/tensor/ops/launchers/launchers.h"
#include "wick/tensor/ops/reference.h"

namespace wick::launchers {

void fill(const OpCall& call) {
  // The host rounds the number to the dtype; the kernel writes its bits.
  const Operand& output = call.outputs[0];
  uint64_t bits = 0;
  const std::unique_ptr<Buffer> host = wrap_host_memory(reinterpret_cast<std::byte*>(&bits), sizeof(bits), nullptr);
  const Layout scalar{Shape{}};
  write_reference({Shape{}, {call.parameters<FillParams>().value}, output.dtype}, {host.get(), output.dtype, &scalar});
  const auto bytes = static_cast<uint32_t>(info(output.dtype).block_bytes);
  launch_strided(
      *call.runtime, {"fill", {bytes}}, [&](uint32_t rank) { return kernels::fill(bytes, rank, call.runtime->caps()); }, {&output},
      Arguments().wide(bits));
}

}  // namespace wick::launchers
