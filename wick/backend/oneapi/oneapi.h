// The oneAPI backend's own interface: its error, and what code needs that calls Level Zero itself on the device and the memory of a Device.
#pragma once

#include <cstddef>
#include <memory>

#include "wick/device/device.h"
#include "wick/device/driver_error.h"
#include "wick/device/first_byte.h"

// Opaque types of ze_driver_handle_t and others: no Intel header is needed here.
struct _ze_driver_handle_t;
struct _ze_device_handle_t;
struct _ze_context_handle_t;
struct _ze_command_list_handle_t;
struct _ze_module_handle_t;
struct _ze_kernel_handle_t;

namespace [[gnu::visibility("default")]] wick {

// A call of Level Zero that failed.
class OneApiError final : public DriverError {
 public:
  using DriverError::DriverError;
};

// Native handles of a device of this backend, valid while it is open, for SYCL's interoperability. Errors: device_mismatch,
// "expected a oneapi device, got cpu".
[[nodiscard]] _ze_driver_handle_t* oneapi_driver(const Device& device);
[[nodiscard]] _ze_device_handle_t* oneapi_device(const Device& device);
[[nodiscard]] _ze_context_handle_t* oneapi_context(const Device& device);
// The immediate command list that all work of the device is appended to. It is not in order: begin and end work of your own by a barrier.
[[nodiscard]] _ze_command_list_handle_t* oneapi_command_list(const Device& device);

// The address, in the device's USM memory, of a byte of a Buffer; it stays as long as the Buffer lives. Errors: device_mismatch.
[[nodiscard]] void* oneapi_memory(const Buffer& buffer, size_t offset = 0);
// Address of a tensor's first element.
template <class Tensor>
[[nodiscard]] void* oneapi_memory(const Tensor& tensor) {
  return oneapi_memory(tensor.storage()->buffer(), first_byte(tensor));
}
// USM memory of oneapi_context(device) that somebody else allocated, for Storage(device, dtype, buffer); `owner` keeps it until the buffer
// goes. Kernels read up to the next multiple of 16 bytes behind it. Errors: device_mismatch; invalid_argument for an address that is not a
// multiple of 256.
[[nodiscard]] std::unique_ptr<Buffer> wrap_oneapi_memory(const Device& device, void* address, size_t bytes,
                                                         std::shared_ptr<const void> owner);

// The module of a program compiled by such a device. Errors: device_mismatch.
[[nodiscard]] _ze_module_handle_t* oneapi_module(const Program& program);
[[nodiscard]] _ze_kernel_handle_t* oneapi_kernel(const Program& program);

}  // namespace wick
