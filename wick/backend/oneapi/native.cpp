#include "wick/backend/oneapi/driver.h"
#include "wick/backend/oneapi/oneapi.h"
#include "wick/device/native_driver.h"

namespace wick {
namespace {

oneapi::ZeQueue& opened_queue(const Device& device) { return driver_of<oneapi::ZeDriver>(device, DeviceKind::oneapi).queue(); }

const oneapi::ZeProgram& opened_program(const Program& program) {
  const auto* const own = dynamic_cast<const oneapi::ZeProgram*>(&program);
  if (own == nullptr) fail(ErrorCode::device_mismatch, "kernel {} is no program of a oneapi device", program.kernel().name);
  return *own;
}

}  // namespace

_ze_driver_handle_t* oneapi_driver(const Device& device) { return opened_queue(device).device().driver; }
_ze_device_handle_t* oneapi_device(const Device& device) { return opened_queue(device).device().handle; }
_ze_context_handle_t* oneapi_context(const Device& device) { return opened_queue(device).context(); }
_ze_command_list_handle_t* oneapi_command_list(const Device& device) { return opened_queue(device).list(); }

void* oneapi_memory(const Buffer& buffer, size_t offset) {
  const auto [block, first] = block_of<oneapi::Block>(buffer, DeviceKind::oneapi);
  return block->address() + first + offset;
}

_ze_module_handle_t* oneapi_module(const Program& program) { return opened_program(program).module(); }
_ze_kernel_handle_t* oneapi_kernel(const Program& program) { return opened_program(program).handle(); }

}  // namespace wick
