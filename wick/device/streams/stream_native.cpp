#include "wick/device/streams/stream_native.h"

#include <utility>

#include "wick/device/native_driver.h"

namespace wick {

StreamDriver& stream_driver(const Device& device, DeviceKind kind) { return driver_of<StreamDriver>(device, kind); }

const StreamProgram& stream_program(const Program& program, DeviceKind kind) {
  const auto* const loaded = dynamic_cast<const StreamProgram*>(&program);
  if (loaded == nullptr || loaded->kind() != kind) {
    fail(ErrorCode::device_mismatch, "kernel {}: not a program of the {} backend", program.kernel().name, to_string(kind));
  }
  return *loaded;
}

StreamAddress stream_memory(const Buffer& buffer, size_t offset, DeviceKind kind) {
  const auto* const block = dynamic_cast<const StreamBuffer*>(buffer.place().block);
  if (block == nullptr || block->kind() != kind) {
    fail(ErrorCode::device_mismatch, "a buffer of {} bytes is not memory of a {} device", buffer.bytes(), to_string(kind));
  }
  return stream_address(buffer, offset);
}

std::unique_ptr<Buffer> wrap_stream_memory(DeviceKind kind, StreamAddress address, size_t bytes, std::shared_ptr<const void> owner) {
  constexpr StreamAddress kAlignment = 256;
  if (address == 0 || address % kAlignment != 0) {
    fail(ErrorCode::invalid_argument, "memory of a {} device at {:#x}: the address is not a multiple of {}", to_string(kind), address,
         kAlignment);
  }
  return std::make_unique<StreamBuffer>(kind, address, bytes, std::move(owner));
}

}  // namespace wick
