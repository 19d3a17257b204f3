// Timestamps of the device, for events that measure.
#pragma once

#include <cstdint>
#include <optional>

#include "wick/backend/vulkan/device.h"
#include "wick/device/submissions/slots.h"

namespace wick::vulkan {

class Timestamps {
 public:
  explicit Timestamps(const Device& device);
  ~Timestamps();
  Timestamps(const Timestamps&) = delete;
  Timestamps& operator=(const Timestamps&) = delete;

  // Records a timestamp into a slot that is free; none where the device has no clock, or all slots are taken.
  [[nodiscard]] std::optional<uint32_t> record(VkCommandBuffer commands);
  // Seconds on the device's clock, once it has got there.
  [[nodiscard]] std::optional<double> seconds(uint32_t slot) const;
  void give_back(uint32_t slot) { slots_.give_back(slot); }

 private:
  const Device& device_;
  VkQueryPool pool_ = VK_NULL_HANDLE;
  Slots slots_;
};

}  // namespace wick::vulkan
