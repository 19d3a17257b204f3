// The first Vulkan device that there is, by each of its variants.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "unit/on_device.h"
#include "wick/device/registry.h"

namespace wick::vulkan {

class OnVulkan : public OnDevice<testing::TestWithParam<const char*>> {
 protected:
  void SetUp() override {
    const std::vector<DeviceInfo> devices = require_backend(DeviceKind::vulkan).probe();
    if (devices.empty()) GTEST_SKIP() << "no Vulkan device";
    index_ = devices.front().index;
    open({DeviceKind::vulkan, index_}, {.threads = 0, .variant = GetParam()});
  }

  [[nodiscard]] int index() const { return index_; }

 private:
  int index_ = 0;
};

}  // namespace wick::vulkan
