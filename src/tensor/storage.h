// A Storage is a device's bytes with a dtype; tensors share it and look at it through their layouts.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "device/buffer.h"
#include "device/device.h"
#include "layout/dtype.h"

namespace wick {

class Storage {
 public:
  Storage(Device device, DType dtype, std::shared_ptr<Buffer> buffer)
      : device_(std::move(device)), dtype_(dtype), buffer_(std::move(buffer)) {}

  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] Buffer& buffer() const noexcept { return *buffer_; }
  [[nodiscard]] const std::shared_ptr<Buffer>& shared_buffer() const noexcept { return buffer_; }
  // How often the elements were written to: a tape that has saved a tensor sees by it whether they are still the same.
  [[nodiscard]] uint64_t version() const noexcept { return version_.load(std::memory_order_relaxed); }
  void bump_version() const noexcept { version_.store(version() + 1, std::memory_order_relaxed); }

 private:
  Device device_;
  DType dtype_;
  std::shared_ptr<Buffer> buffer_;
  mutable std::atomic<uint64_t> version_{0};
};

}  // namespace wick
