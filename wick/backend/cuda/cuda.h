// The CUDA backend's own interface: its error, and what code needs that calls NVIDIA's libraries itself on memory and streams of a Device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "wick/device/device.h"
#include "wick/device/driver_error.h"
#include "wick/device/first_byte.h"

// Opaque types of CUcontext, CUstream (cudaStream_t), CUmodule and CUfunction: no NVIDIA header is needed here.
struct CUctx_st;
struct CUstream_st;
struct CUmod_st;
struct CUfunc_st;

namespace [[gnu::visibility("default")]] wick {

// A call of NVIDIA's driver, or of another library of theirs, that failed.
class CudaError final : public DriverError {
 public:
  using DriverError::DriverError;
};

// Native handles of a device of this backend. Errors: device_mismatch, "expected a cuda device, got cpu".

// The driver's own number of it (CUdevice).
[[nodiscard]] int cuda_device(const Device& device);
// Its primary context, which NVIDIA's run-time library uses too. It lives as long as the device is open.
[[nodiscard]] CUctx_st* cuda_context(const Device& device);
// Where all work of the device is queued, in order: what is queued here runs behind the ops before and before the ops after.
[[nodiscard]] CUstream_st* cuda_stream(const Device& device);

// The address (CUdeviceptr) of a byte of a buffer, and of the first element of a tensor; it stays as long as the tensor's storage lives.
// Errors: device_mismatch.
[[nodiscard]] uint64_t cuda_memory(const Buffer& buffer, size_t offset = 0);
template <class Tensor>
[[nodiscard]] uint64_t cuda_memory(const Tensor& tensor) {
  return cuda_memory(tensor.storage()->buffer(), first_byte(tensor));
}
// Memory of a device that somebody else allocated, for Storage(device, dtype, buffer); `owner` keeps it until the buffer goes. Kernels read
// up to the next multiple of 16 bytes behind it. Errors: invalid_argument for an address that is not a multiple of 256.
[[nodiscard]] std::unique_ptr<Buffer> wrap_cuda_memory(uint64_t address, size_t bytes, std::shared_ptr<const void> owner);
// A device whose work is queued on a stream of somebody else's, which was made in the device's primary context and outlives it. Errors:
// no_device.
[[nodiscard]] Device open_on_cuda_stream(int index, CUstream_st* stream, const DeviceOptions& options = {});

// The module of a program compiled by such a device. Errors: device_mismatch.
[[nodiscard]] CUmod_st* cuda_module(const Program& program);
[[nodiscard]] CUfunc_st* cuda_function(const Program& program);

}  // namespace wick
