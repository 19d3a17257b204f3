// What functions that hand out a driver's own handles begin with: from a Device, a Buffer or a Program to the backend's class behind it.
#pragma once

#include <cstddef>
#include <utility>

#include "wick/base/fail.h"
#include "wick/device/device.h"
#include "wick/device/kernel_runtime.h"

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

}  // namespace wick
