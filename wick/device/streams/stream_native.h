// The driver's own handles behind a Device, a Buffer and a Program, for the public headers of backends whose queues are streams.
#pragma once

#include <cstddef>
#include <memory>

#include "wick/device/device.h"
#include "wick/device/streams/stream_driver.h"

namespace wick {

// Errors of all: device_mismatch, naming the kind that was expected.
[[nodiscard]] StreamDriver& stream_driver(const Device& device, DeviceKind kind);
[[nodiscard]] const StreamProgram& stream_program(const Program& program, DeviceKind kind);
[[nodiscard]] StreamAddress stream_memory(const Buffer& buffer, size_t offset, DeviceKind kind);
// Memory that somebody else allocated. Errors: invalid_argument for an address that is not aligned as kernels want it.
[[nodiscard]] std::unique_ptr<Buffer> wrap_stream_memory(DeviceKind kind, StreamAddress address, size_t bytes,
                                                         std::shared_ptr<const void> owner);

}  // namespace wick
