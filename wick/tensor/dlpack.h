// Tensors shared with other libraries by DLPack: its structures (specification 1.1, dmlc/dlpack), and tensors to and from them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "wick/tensor/tensor.h"

namespace wick::dlpack {

// The structures' members are those of the specification, in its order.
struct DlDevice {
  int32_t kind = 1;
  int32_t index = 0;
};
inline constexpr int32_t kCpu = 1;

struct DlType {
  uint8_t code = 0;
  uint8_t bits = 0;
  uint16_t lanes = 1;
};

struct DlTensor {
  void* data = nullptr;
  DlDevice device = {};
  int32_t rank = 0;
  DlType dtype = {};
  int64_t* shape = nullptr;
  int64_t* strides = nullptr;  // in elements; nullptr: row-major
  uint64_t byte_offset = 0;
};

struct DlManaged {
  DlTensor tensor = {};
  void* context = nullptr;
  void (*deleter)(DlManaged*) = nullptr;
};

struct DlManagedVersioned {
  uint32_t major = 1;
  uint32_t minor = 0;
  void* context = nullptr;
  void (*deleter)(DlManagedVersioned*) = nullptr;
  uint64_t flags = 0;
  DlTensor tensor = {};
};
inline constexpr uint64_t kReadOnly = 1;
inline constexpr uint64_t kCopied = 2;

// A tensor, and whether its u8 elements are bool for the other library.
struct Exchanged {
  Tensor tensor;
  bool boolean = false;
};

// Where the other library finds the tensor's memory: the host's, or a CUDA or ROCm device by its ordinal. None: on a device whose memory
// other libraries have no address of (OpenCL, Vulkan, oneAPI, WebGPU); a copy on the CPU can be given.
[[nodiscard]] std::optional<DlDevice> device_of(const Tensor& x);
// The device of a DLPack device that this library can take memory of; memory of the host that is pinned for one is the host's.
[[nodiscard]] std::optional<DeviceLocation> location_of(DlDevice device) noexcept;
// The stream of a CUDA or ROCm device (CUstream, hipStream_t), for producers that order their work before it; 0 for the CPU.
[[nodiscard]] uintptr_t stream_of(const Device& device);

// The same memory, for the other library: its deleter gives it back. What is queued on the tensor's device is not waited for. Managed is
// DlManaged or DlManagedVersioned. Errors: unsupported for a dtype that DLPack has not, and for memory that device_of() has no name for.
template <class Managed>
[[nodiscard]] Managed* lend(const Exchanged& from);
extern template DlManaged* lend(const Exchanged& from);
extern template DlManagedVersioned* lend(const Exchanged& from);

// Why memory of the other library cannot be shared, but for its device; empty: it can. Errors: dtype_mismatch.
[[nodiscard]] std::string_view reason_to_copy(const DlTensor& from, bool read_only);

// A tensor over the other library's memory without a copy; a copy if `copy` is set, or if there is a reason_to_copy(). `owner`
// keeps the memory alive; memory of a GPU is given back once the device has done what was queued. The other library's work on it is done,
// or ordered before stream_of(). `device` is the one at location_of(), where it is open already. Errors: dtype_mismatch, device_mismatch,
// shape_mismatch, naming what the other library gave; backend_not_linked, no_device.
[[nodiscard]] Exchanged borrow(const DlTensor& from, bool read_only, bool copy, std::shared_ptr<const void> owner,
                               const std::optional<Device>& device = std::nullopt);

// The code of a dtype. Errors: unsupported.
[[nodiscard]] DlType type_of(DType dtype, bool boolean);

}  // namespace wick::dlpack
