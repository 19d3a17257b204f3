#include "wick/backend/cuda/backend.h"
#include "wick/backend/cuda/cuda.h"
#include "wick/device/streams/stream_native.h"

namespace wick {
namespace {

constexpr DeviceKind kKind = DeviceKind::cuda;

}  // namespace

int cuda_device(const Device& device) { return stream_driver(device, kKind).device(); }

CUctx_st* cuda_context(const Device& device) { return static_cast<CUctx_st*>(stream_driver(device, kKind).queue().context().open->handle); }

CUstream_st* cuda_stream(const Device& device) { return static_cast<CUstream_st*>(stream_driver(device, kKind).queue().stream()); }

uint64_t cuda_memory(const Buffer& buffer, size_t offset) { return stream_memory(buffer, offset, kKind); }

std::unique_ptr<Buffer> wrap_cuda_memory(uint64_t address, size_t bytes, std::shared_ptr<const void> owner) {
  return wrap_stream_memory(kKind, address, bytes, std::move(owner));
}

Device open_on_cuda_stream(int index, CUstream_st* stream, const DeviceOptions& options) {
  std::unique_ptr<Runtime> runtime = cuda::open_on_stream(index, options, stream);
  if (runtime == nullptr) fail_no_device(kKind, index, cuda::kBackend.probe(), cuda::kBackend.missing(index));
  return Device::adopt({kKind, index}, std::move(runtime));
}

CUmod_st* cuda_module(const Program& program) { return static_cast<CUmod_st*>(stream_program(program, kKind).module()); }

CUfunc_st* cuda_function(const Program& program) { return static_cast<CUfunc_st*>(stream_program(program, kKind).function()); }

}  // namespace wick
