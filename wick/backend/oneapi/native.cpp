#include "wick/backend/oneapi/driver.h"
#include "wick/backend/oneapi/oneapi.h"
#include "wick/device/native_driver.h"

namespace wick {
namespace {

constexpr DeviceKind kKind = DeviceKind::oneapi;

oneapi::ZeQueue& opened_queue(const Device& device) { return driver_of<oneapi::ZeDriver>(device, kKind).queue(); }

}  // namespace

_ze_driver_handle_t* oneapi_driver(const Device& device) { return opened_queue(device).device().driver; }
_ze_device_handle_t* oneapi_device(const Device& device) { return opened_queue(device).device().handle; }
_ze_context_handle_t* oneapi_context(const Device& device) { return opened_queue(device).context(); }
_ze_command_list_handle_t* oneapi_command_list(const Device& device) { return opened_queue(device).list(); }

void* oneapi_memory(const Buffer& buffer, size_t offset) {
  const auto [block, first] = block_of<oneapi::Block>(buffer, kKind);
  return block->address() + first + offset;
}

std::unique_ptr<Buffer> wrap_oneapi_memory(const Device& device, void* address, size_t bytes, std::shared_ptr<const void> owner) {
  oneapi::ZeQueue& queue = opened_queue(device);
  check_wrapped(kKind, address, reinterpret_cast<uintptr_t>(address));
  return std::make_unique<oneapi::Block>(queue.shared_from_this(), static_cast<std::byte*>(address), bytes, std::move(owner));
}

_ze_module_handle_t* oneapi_module(const Program& program) { return program_of<oneapi::ZeProgram>(program, kKind).module(); }
_ze_kernel_handle_t* oneapi_kernel(const Program& program) { return program_of<oneapi::ZeProgram>(program, kKind).handle(); }

}  // namespace wick
