// Access to a driver's native handles: from a Device, a Buffer or a Program to the backend's own class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "wick/base/fail.h"
#include "wick/device/device.h"
#include "wick/device/kernel_runtime.h"
#include "wick/device/program.h"

namespace wick {

// Errors: device_mismatch, "expected a metal device, got cpu".
template <class Driver>
[[nodiscard]] Driver& driver_of(const Device& device, DeviceKind kind) {
  auto* const runtime = dynamic_cast<KernelRuntime*>(&device.as_kind(kind).runtime());
  auto* const driver = runtime == nullptr ? nullptr : dynamic_cast<Driver*>(&runtime->driver());
  if (driver == nullptr) {
    fail(ErrorCode::device_mismatch, "{} is not driven by the {} backend", device.location().to_string(), to_string(kind));
  }
  return *driver;
}

// The block that a buffer lies in, and the place of its first byte there. Errors: device_mismatch for another backend's.
template <class Block>
[[nodiscard]] std::pair<const Block*, size_t> block_of(const Buffer& buffer, DeviceKind kind) {
  const auto [place, first] = buffer.place();
  const auto* const block = dynamic_cast<const Block*>(place);
  if (block == nullptr)
    fail(ErrorCode::device_mismatch, "a buffer of {} bytes is not memory of a {} device", buffer.bytes(), to_string(kind));
  return {block, first};
}

// A program as the backend has it. Errors: device_mismatch for another backend's.
template <class Loaded>
[[nodiscard]] const Loaded& program_of(const Program& program, DeviceKind kind) {
  const auto* const loaded = dynamic_cast<const Loaded*>(&program);
  if (loaded == nullptr)
    fail(ErrorCode::device_mismatch, "kernel {}: not a program of the {} backend", program.kernel().name, to_string(kind));
  return *loaded;
}

// Memory of somebody else's, for a Buffer over it. Errors: invalid_argument for none, and for a place, an address or an offset in the
// driver's object, that is not aligned as kernels and views need it.
inline void check_wrapped(DeviceKind kind, const void* object, uint64_t place) {
  constexpr uint64_t kAlignment = 256;
  if (object != nullptr && place % kAlignment == 0) return;
  fail(ErrorCode::invalid_argument, "memory of a {} device at {:#x}: {}", to_string(kind), place,
       object == nullptr ? "there is none" : "its place is not a multiple of 256");
}

}  // namespace wick
