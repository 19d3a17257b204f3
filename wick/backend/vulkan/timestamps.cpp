#include "wick/backend/vulkan/timestamps.h"

namespace wick::vulkan {
namespace {

constexpr uint32_t kSlots = 1024;

}  // namespace

Timestamps::Timestamps(const Device& device) : device_(device) {
  if (device.physical().seconds_per_tick == 0) return;
  auto info = typed<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = kSlots;
  check(vkCreateQueryPool(device.handle(), &info, nullptr, &pool_), "vkCreateQueryPool");
  for (uint32_t slot = kSlots; slot > 0; --slot) free_.push_back(slot - 1);
}

Timestamps::~Timestamps() { vkDestroyQueryPool(device_.handle(), pool_, nullptr); }

std::optional<uint32_t> Timestamps::record(VkCommandBuffer commands) {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return std::nullopt;
  const uint32_t slot = free_.back();
  free_.pop_back();
  vkCmdResetQueryPool(commands, pool_, slot, 1);
  vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool_, slot);
  return slot;
}

std::optional<double> Timestamps::seconds(uint32_t slot) const {
  uint64_t ticks = 0;
  if (vkGetQueryPoolResults(device_.handle(), pool_, slot, 1, sizeof(ticks), &ticks, sizeof(ticks), VK_QUERY_RESULT_64_BIT) != VK_SUCCESS)
    return std::nullopt;
  return static_cast<double>(ticks) * device_.physical().seconds_per_tick;
}

void Timestamps::give_back(uint32_t slot) {
  const std::lock_guard lock(mutex_);
  free_.push_back(slot);
}

}  // namespace wick::vulkan
