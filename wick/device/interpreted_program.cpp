#include "wick/device/interpreted_program.h"

#include <algorithm>

#include "wick/base/fail.h"
#include "wick/device/linked_kernels.h"
#include "wick/ir/interpreter.h"
#include "wick/ir/passes.h"

namespace wick {

std::shared_ptr<const Program> interpreted_program(const ir::Kernel& kernel, const DeviceCaps& caps) {
  return std::make_shared<const Program>(ir::prepare(kernel, caps));
}

void interpret(const Launch& launch, bool keeps_subnormals) {
  const ir::Kernel& kernel = launch.program->kernel();
  ir::LaunchArguments arguments;
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    const BufferArgument& argument = launch.buffers[i];
    const auto [block, offset] = argument.buffer->place();
    WICK_ASSERT(block->host_data() != nullptr);
    // The last narrow elements of a buffer lie in a word that may go on behind it, where its block goes on too.
    const auto unit = static_cast<size_t>(info(kernel.buffers[i].element).bytes);
    const size_t first = offset + argument.offset, whole = (argument.size() + unit - 1) / unit * unit;
    arguments.buffers.emplace_back(block->host_data() + first, std::min(whole, block->bytes() - first));
  }
  arguments.keeps_subnormals = keeps_subnormals;
  arguments.parameters.assign(launch.parameters.begin(), launch.parameters.end());
  ir::interpret(kernel, launch.grid, arguments);
}

const KernelInterpreter kKernelInterpreter = {interpreted_program, interpret};

}  // namespace wick
