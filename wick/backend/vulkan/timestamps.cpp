#include "wick/backend/vulkan/timestamps.h"

namespace wick::vulkan {
namespace {

constexpr uint32_t kSlots = 1024;

}  // namespace

Timestamps::Timestamps(const Device& device) : device_(device), slots_(device.physical().seconds_per_tick == 0 ? 0 : kSlots) {
  if (device.physical().seconds_per_tick == 0) return;
  const VkQueryPoolCreateInfo info{
      .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = kSlots};
  check(vkCreateQueryPool(device.handle(), &info, nullptr, &pool_), "vkCreateQueryPool");
}

Timestamps::~Timestamps() { vkDestroyQueryPool(device_.handle(), pool_, nullptr); }

std::optional<uint32_t> Timestamps::record(VkCommandBuffer commands) {
  const std::optional<uint32_t> slot = slots_.take();
  if (!slot) return std::nullopt;
  vkCmdResetQueryPool(commands, pool_, *slot, 1);
  vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool_, *slot);
  return slot;
}

std::optional<double> Timestamps::seconds(uint32_t slot) const {
  uint64_t ticks = 0;
  if (vkGetQueryPoolResults(device_.handle(), pool_, slot, 1, sizeof(ticks), &ticks, sizeof(ticks), VK_QUERY_RESULT_64_BIT) != VK_SUCCESS)
    return std::nullopt;
  return static_cast<double>(ticks) * device_.physical().seconds_per_tick;
}

}  // namespace wick::vulkan
