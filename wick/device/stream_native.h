// The driver's own handles behind a Device, a Buffer and a Program, for the public headers of backends whose queues are streams.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "wick/device/device.h"
#include "wick/device/stream_driver.h"

namespace wick {

// Errors of all: device_mismatch, naming the kind that was expected.
[[nodiscard]] StreamDriver& stream_driver(const Device& device, DeviceKind kind);
[[nodiscard]] const StreamProgram& stream_program(const Program& program, DeviceKind kind);
[[nodiscard]] StreamAddress stream_memory(const Buffer& buffer, size_t offset, DeviceKind kind);
// Memory that somebody else allocated. Errors: invalid_argument for an address that is not aligned as kernels want it.
[[nodiscard]] std::unique_ptr<Buffer> wrap_stream_memory(DeviceKind kind, StreamAddress address, size_t bytes,
                                                         std::shared_ptr<const void> owner);

// How DLPack (specification 1.1) numbers the memory of a kind's devices, and memory of the host that is pinned for them.
struct DlpackMemory {
  DeviceKind kind;
  int32_t of_device;
  int32_t of_pinned_host;
};
inline constexpr std::array kDlpackMemories = {DlpackMemory{DeviceKind::cuda, 2, 3}, DlpackMemory{DeviceKind::rocm, 10, 11}};

}  // namespace wick
