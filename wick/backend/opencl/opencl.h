// The OpenCL backend's own interface: its error, and what code needs that calls OpenCL itself on the queue and the memory of a Device.
#pragma once

#include <cstddef>
#include <memory>

#include "wick/device/device.h"
#include "wick/device/driver_error.h"
#include "wick/device/first_byte.h"

// Opaque types of cl_device_id and others: no OpenCL header is needed here.
struct _cl_device_id;
struct _cl_context;
struct _cl_command_queue;
struct _cl_mem;
struct _cl_program;
struct _cl_kernel;

namespace [[gnu::visibility("default")]] wick {

// A call of OpenCL that failed.
class OpenClError final : public DriverError {
 public:
  using DriverError::DriverError;
};

// Native handles of a device of this backend, valid while it is open. Errors: device_mismatch, "expected an opencl device, got cpu".
[[nodiscard]] _cl_device_id* opencl_device(const Device& device);
[[nodiscard]] _cl_context* opencl_context(const Device& device);
// Where all work of the device is queued, in order: what is queued here runs behind the ops before and before the ops after.
[[nodiscard]] _cl_command_queue* opencl_queue(const Device& device);

// A cl_mem, and the place in it of a byte of a Buffer. It stays as long as the Buffer lives.
struct OpenClMemory {
  _cl_mem* buffer = nullptr;
  size_t offset = 0;
};
// Errors: device_mismatch.
[[nodiscard]] OpenClMemory opencl_memory(const Buffer& buffer, size_t offset = 0);
// Buffer and offset of a tensor's first element.
template <class Tensor>
[[nodiscard]] OpenClMemory opencl_memory(const Tensor& tensor) {
  return opencl_memory(tensor.storage()->buffer(), first_byte(tensor));
}
// A cl_mem of opencl_context(device) that somebody else made, for Storage(device, dtype, buffer); `owner` keeps it until the buffer goes.
// It has room for the next multiple of 256 bytes. Errors: device_mismatch; invalid_argument for nullptr.
[[nodiscard]] std::unique_ptr<Buffer> wrap_opencl_memory(const Device& device, _cl_mem* memory, size_t bytes,
                                                         std::shared_ptr<const void> owner);

// The program compiled by such a device. Errors: device_mismatch.
[[nodiscard]] _cl_program* opencl_program(const Program& program);
[[nodiscard]] _cl_kernel* opencl_kernel(const Program& program);

}  // namespace wick
