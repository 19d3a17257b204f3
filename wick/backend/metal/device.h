// A Device is an opened GPU: its object, its command queue, and what is kept resident on it.
#pragma once

#import <Metal/Metal.h>

#include <string>
#include <vector>

#include "wick/backend/metal/owned.h"
#include "wick/backend/metal/residency.h"
#include "wick/device/device_score.h"
#include "wick/op/device_caps.h"

namespace wick::metal {

// A GPU that this backend runs on.
struct Gpu {
  Owned<id<MTLDevice>> handle;
  DeviceCaps caps;
  Hardware hardware = Hardware::other;
};

struct Installation {
  std::vector<Gpu> gpus;  // in Metal's order
  std::string missing;    // why there are none, or why some are left out
};

// The GPUs of this machine that share the processor's memory and know Metal 3.
[[nodiscard]] Installation find_gpus();

class Device {
 public:
  // `place` names the device in errors: "metal:0 (Apple M2)". Errors: no_device where Metal makes no command queue.
  Device(Gpu gpu, std::string place);

  [[nodiscard]] id<MTLDevice> handle() const noexcept { return gpu_.handle.get(); }
  [[nodiscard]] id<MTLCommandQueue> queue() const noexcept { return queue_.get(); }
  // Capabilities that the device was opened with, which may be fewer than it has.
  [[nodiscard]] const DeviceCaps& caps() const noexcept { return gpu_.caps; }
  [[nodiscard]] const std::string& place() const noexcept { return place_; }
  [[nodiscard]] Residency& residency() noexcept { return residency_; }

 private:
  Gpu gpu_;
  std::string place_;
  Owned<id<MTLCommandQueue>> queue_;
  Residency residency_;
};

}  // namespace wick::metal
