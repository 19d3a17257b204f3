#include <algorithm>
#include <vector>

#include "wick/base/fail.h"
#include "wick/device/buffer_splitter.h"
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

bool is_too_large(const BufferArgument& argument, const DeviceCaps& caps) {
  return caps.max_buffer_bytes != 0 && argument.size() > caps.max_buffer_bytes;
}

[[noreturn]] void fail_too_large(const ir::Kernel& kernel, std::span<const BufferArgument> buffers, size_t wanted, const DeviceCaps& caps) {
  const auto largest = std::max_element(buffers.begin(), buffers.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  fail(ErrorCode::unsupported, "kernel {}: buffer {} has {} bytes, and {} takes {} at once; in parts of so many it takes {} buffers of {}",
       kernel.name, kernel.buffers[static_cast<size_t>(largest - buffers.begin())].name, largest->size(), caps.name, caps.max_buffer_bytes,
       wanted, caps.max_storage_buffers);
}

void launch_in_parts(Runtime& runtime, const Launch& launch) {
  const DeviceCaps& caps = runtime.caps();
  // Parts begin where a device binds buffers, and a kernel's vectors lie in one of them.
  constexpr uint64_t kMaxBytes = 0xffffffff;
  const uint64_t granule = std::max(256U, caps.buffer_offset_alignment);
  const auto part_bytes = static_cast<uint32_t>(std::min(caps.max_buffer_bytes, kMaxBytes) / granule * granule);
  std::vector<uint32_t> parts;
  std::vector<BufferArgument> buffers, further;
  for (const BufferArgument& argument : launch.buffers) {
    const bool splits = is_too_large(argument, caps) && part_bytes > 0;
    parts.push_back(splits ? static_cast<uint32_t>((argument.size() + part_bytes - 1) / part_bytes) : 1);
    buffers.push_back({argument.buffer, argument.offset, splits ? part_bytes : argument.bytes});
    for (uint32_t part = 1; part < parts.back(); ++part) {
      const bool last = part + 1 == parts.back();
      const size_t first = size_t{part} * part_bytes;
      const size_t rest = argument.bytes == 0 ? 0 : argument.bytes - first;
      further.push_back({argument.buffer, argument.offset + first, last ? rest : part_bytes});
    }
  }
  buffers.insert(buffers.end(), further.begin(), further.end());
  auto* const splitter = buffers.size() > caps.max_storage_buffers ? nullptr : dynamic_cast<BufferSplitter*>(&runtime);
  const Program* const program = splitter == nullptr ? nullptr : splitter->split(*launch.program, parts, part_bytes);
  if (program == nullptr) fail_too_large(launch.program->kernel(), launch.buffers, buffers.size(), caps);
  runtime.queue().launch({program, launch.grid, buffers, launch.parameters});
}

}  // namespace

void Runtime::launch(const Launch& launch) {
  const ir::Kernel& kernel = launch.program->kernel();
  if (launch.buffers.size() != kernel.buffers.size() || launch.parameters.size() != kernel.parameters.size()) {
    fail(ErrorCode::invalid_argument, "kernel {}: {} buffers and {} parameters given, {} and {} needed", kernel.name, launch.buffers.size(),
         launch.parameters.size(), kernel.buffers.size(), kernel.parameters.size());
  }
  validate(launch);
  bool fits = true;
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    check_range(kernel, i, launch.buffers[i], caps());
    fits = fits && !is_too_large(launch.buffers[i], caps());
  }
  if (launch.grid.x == 0 || launch.grid.y == 0 || launch.grid.z == 0) return;
  ir::verify_grid(kernel, launch.grid, caps());
  if (!fits) return launch_in_parts(*this, launch);
  queue().launch(launch);
}

}  // namespace wick
