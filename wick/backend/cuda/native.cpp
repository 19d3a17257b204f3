#include <memory>
#include <utility>

#include "wick/backend/cuda/backend.h"
#include "wick/backend/cuda/cuda.h"
#include "wick/backend/cuda/driver.h"
#include "wick/base/fail.h"
#include "wick/device/kernel_runtime.h"

namespace wick {
namespace {

cuda::CudaDriver& driver_of(const Device& device) {
  auto* const runtime = dynamic_cast<KernelRuntime*>(&device.as_cuda().runtime());
  auto* const driver = runtime == nullptr ? nullptr : dynamic_cast<cuda::CudaDriver*>(&runtime->driver());
  if (driver == nullptr) fail(ErrorCode::device_mismatch, "{} is not driven by the CUDA backend", device.location().to_string());
  return *driver;
}

const StreamProgram& program_of(const Program& program) {
  const auto* const loaded = dynamic_cast<const StreamProgram*>(&program);
  if (loaded == nullptr) fail(ErrorCode::device_mismatch, "kernel {}: not a program of the CUDA backend", program.kernel().name);
  return *loaded;
}

}  // namespace

int cuda_device(const Device& device) { return driver_of(device).device(); }

CUctx_st* cuda_context(const Device& device) { return static_cast<CUctx_st*>(driver_of(device).queue().context().open->handle); }

CUstream_st* cuda_stream(const Device& device) { return static_cast<CUstream_st*>(driver_of(device).queue().stream()); }

uint64_t cuda_memory(const Buffer& buffer, size_t offset) {
  if (dynamic_cast<const StreamBuffer*>(buffer.place().block) == nullptr) {
    fail(ErrorCode::device_mismatch, "a buffer of {} bytes is not memory of a cuda device", buffer.bytes());
  }
  return stream_address(buffer, offset);
}

std::unique_ptr<Buffer> wrap_cuda_memory(uint64_t address, size_t bytes, std::shared_ptr<const void> owner) {
  constexpr uint64_t kAlignment = 256;
  if (address == 0 || address % kAlignment != 0) {
    fail(ErrorCode::invalid_argument, "memory of a cuda device at {:#x}: the address is not a multiple of {}", address, kAlignment);
  }
  return std::make_unique<StreamBuffer>(address, bytes, std::move(owner));
}

Device open_on_cuda_stream(int index, CUstream_st* stream, const DeviceOptions& options) {
  std::unique_ptr<Runtime> runtime = cuda::open_on_stream(index, options, stream);
  if (runtime == nullptr) fail_no_device(DeviceKind::cuda, index, cuda::kBackend.probe(), cuda::kBackend.missing(index));
  return Device::adopt({DeviceKind::cuda, index}, std::move(runtime));
}

CUmod_st* cuda_module(const Program& program) { return static_cast<CUmod_st*>(program_of(program).module()); }

CUfunc_st* cuda_function(const Program& program) { return static_cast<CUfunc_st*>(program_of(program).function()); }

}  // namespace wick
