#include "wick/backend/opencl/driver.h"
#include "wick/backend/opencl/opencl.h"
#include "wick/device/native_driver.h"

namespace wick {
namespace {

constexpr DeviceKind kKind = DeviceKind::opencl;

opencl::OpenClDriver& opened(const Device& device) { return driver_of<opencl::OpenClDriver>(device, kKind); }

}  // namespace

_cl_device_id* opencl_device(const Device& device) { return opened(device).device(); }
_cl_context* opencl_context(const Device& device) { return opened(device).context(); }
_cl_command_queue* opencl_queue(const Device& device) { return opened(device).command_queue(); }

OpenClMemory opencl_memory(const Buffer& buffer, size_t offset) {
  const auto [block, first] = block_of<opencl::OpenClBuffer>(buffer, kKind);
  return {block->handle(), first + offset};
}

std::unique_ptr<Buffer> wrap_opencl_memory(const Device& device, _cl_mem* memory, size_t bytes, std::shared_ptr<const void> owner) {
  static_cast<void>(opened(device));
  check_wrapped(kKind, memory, 0);
  return std::make_unique<opencl::OpenClBuffer>(memory, bytes, std::move(owner));
}

_cl_program* opencl_program(const Program& program) { return program_of<opencl::OpenClProgram>(program, kKind).program(); }
_cl_kernel* opencl_kernel(const Program& program) { return program_of<opencl::OpenClProgram>(program, kKind).handle(); }

}  // namespace wick
