// A Storage is a device's bytes with a dtype; tensors share it and look at it through their layouts.
#pragma once

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

 private:
  Device device_;
  DType dtype_;
  std::shared_ptr<Buffer> buffer_;
};

}  // namespace wick
