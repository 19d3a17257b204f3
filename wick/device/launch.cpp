#include "wick/base/fail.h"
#include "wick/device/runtime.h"
#include "wick/ir/verify.h"

namespace wick {
namespace {

void check_range(const ir::Kernel& kernel, size_t index, const BufferArgument& argument, const DeviceCaps& caps) {
  const std::string& name = kernel.buffers[index].name;
  if (argument.buffer == nullptr) fail(ErrorCode::invalid_argument, "kernel {}: no buffer is given as {}", kernel.name, name);
  const size_t size = argument.buffer->bytes();
  if (argument.offset > size || argument.bytes > size - argument.offset) {
    fail(ErrorCode::invalid_argument, "kernel {}: buffer {}: {} bytes from {} on leave a buffer of {}", kernel.name, name, argument.bytes,
         argument.offset, size);
  }
  if (argument.offset % caps.buffer_offset_alignment == 0) return;
  fail(ErrorCode::invalid_argument, "kernel {}: buffer {}: begins at byte {}, which is not a multiple of {}", kernel.name, name,
       argument.offset, caps.buffer_offset_alignment);
}

}  // namespace

void Runtime::launch(const Launch& launch) {
  const ir::Kernel& kernel = launch.program->kernel();
  if (launch.buffers.size() != kernel.buffers.size() || launch.parameters.size() != kernel.parameters.size()) {
    fail(ErrorCode::invalid_argument, "kernel {}: {} buffers and {} parameters given, {} and {} needed", kernel.name, launch.buffers.size(),
         launch.parameters.size(), kernel.buffers.size(), kernel.parameters.size());
  }
  validate(launch);
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    const BufferArgument& argument = launch.buffers[i];
    check_range(kernel, i, argument, caps());
    if (caps().max_buffer_bytes == 0 || argument.size() <= caps().max_buffer_bytes) continue;
    fail(ErrorCode::unsupported, "kernel {}: buffer {} has {} bytes, and {} takes {} at once", kernel.name, kernel.buffers[i].name,
         argument.size(), caps().name, caps().max_buffer_bytes);
  }
  if (launch.grid.x == 0 || launch.grid.y == 0 || launch.grid.z == 0) return;
  ir::verify_grid(kernel, launch.grid, caps());
  queue().launch(launch);
}

}  // namespace wick
