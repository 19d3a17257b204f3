#include "device/interpreted_program.h"

#include "base/error.h"
#include "ir/interpreter.h"
#include "ir/passes.h"

namespace wick {

std::shared_ptr<const Program> interpreted_program(const ir::Kernel& kernel, const DeviceCaps& caps) {
  return std::make_shared<const Program>(ir::prepare(kernel, caps));
}

void interpret(const Launch& launch) {
  ir::LaunchArguments arguments;
  for (const BufferArgument& argument : launch.buffers) {
    const auto [block, offset] = argument.buffer->place();
    WICK_ASSERT(block->host_data() != nullptr);
    arguments.buffers.emplace_back(block->host_data() + offset + argument.offset, argument.size());
  }
  arguments.parameters.assign(launch.parameters.begin(), launch.parameters.end());
  ir::interpret(launch.program->kernel(), launch.grid, arguments);
}

}  // namespace wick
