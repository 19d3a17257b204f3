#include "wick/backend/rocm/backend.h"
#include "wick/backend/rocm/rocm.h"
#include "wick/device/streams/stream_native.h"

namespace wick {
namespace {

constexpr DeviceKind kKind = DeviceKind::rocm;

}  // namespace

int hip_device(const Device& device) { return stream_driver(device, kKind).device(); }

ihipStream_t* hip_stream(const Device& device) { return static_cast<ihipStream_t*>(stream_driver(device, kKind).queue().stream()); }

void* hip_memory(const Buffer& buffer, size_t offset) { return reinterpret_cast<void*>(stream_memory(buffer, offset, kKind)); }

std::unique_ptr<Buffer> wrap_hip_memory(void* address, size_t bytes, std::shared_ptr<const void> owner) {
  return wrap_stream_memory(kKind, reinterpret_cast<StreamAddress>(address), bytes, std::move(owner));
}

Device open_on_hip_stream(int index, ihipStream_t* stream, const DeviceOptions& options) {
  std::unique_ptr<Runtime> runtime = rocm::open_on_stream(index, options, stream);
  if (runtime == nullptr) fail_no_device(kKind, index, rocm::kBackend.probe(), rocm::kBackend.missing(index));
  return Device::adopt({kKind, index}, std::move(runtime));
}

ihipModule_t* hip_module(const Program& program) { return static_cast<ihipModule_t*>(stream_program(program, kKind).module()); }

ihipModuleSymbol_t* hip_function(const Program& program) {
  return static_cast<ihipModuleSymbol_t*>(stream_program(program, kKind).function());
}

}  // namespace wick
