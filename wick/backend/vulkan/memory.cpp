#include "wick/backend/vulkan/memory.h"

#include <initializer_list>
#include <optional>
#include <utility>

#include "wick/backend/vulkan/queue.h"
#include "wick/device/submissions/block_size.h"

namespace wick::vulkan {
namespace {

constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags kVisible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kCached = kVisible | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

// The first type with the first of these properties that has any.
std::optional<uint32_t> find_type(const VkPhysicalDeviceMemoryProperties& memory, uint32_t allowed,
                                  std::initializer_list<VkMemoryPropertyFlags> wishes) {
  for (const VkMemoryPropertyFlags wish : wishes) {
    for (uint32_t type = 0; type < memory.memoryTypeCount; ++type) {
      if ((allowed >> type & 1) != 0 && (memory.memoryTypes[type].propertyFlags & wish) == wish) return type;
    }
  }
  return std::nullopt;
}

std::optional<uint32_t> type_for(const PhysicalDevice& device, uint32_t allowed, Placement placement) {
  switch (placement) {
    case Placement::device:
      return device.shares_memory ? find_type(device.memory, allowed, {kLocal | kCached, kLocal | kVisible})
                                  : find_type(device.memory, allowed, {kLocal});
    case Placement::upload: return find_type(device.memory, allowed, {kVisible});
    case Placement::download: return find_type(device.memory, allowed, {kCached, kVisible});
  }
  return std::nullopt;
}

}  // namespace

std::shared_ptr<Allocation> Allocation::make(const Device& device, size_t bytes, Placement placement) {
  auto allocation = std::make_shared<Allocation>(device);
  return allocation->allocate(bytes, placement) ? allocation : nullptr;
}

bool Allocation::allocate(size_t bytes, Placement placement) {
  const VkBufferCreateInfo info{
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .size = bytes,
      .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  if (bytes > device_.physical().max_allocation) return false;
  if (vkCreateBuffer(device_.handle(), &info, nullptr, &buffer_) != VK_SUCCESS) return false;
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device_.handle(), buffer_, &needs);
  const std::optional<uint32_t> type = type_for(device_.physical(), needs.memoryTypeBits, placement);
  if (!type || needs.size > device_.physical().max_allocation) return false;
  const VkMemoryAllocateInfo piece{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size, .memoryTypeIndex = *type};
  if (vkAllocateMemory(device_.handle(), &piece, nullptr, &memory_) != VK_SUCCESS) return false;
  if (vkBindBufferMemory(device_.handle(), buffer_, memory_, 0) != VK_SUCCESS) return false;
  if (placement == Placement::device && !device_.physical().shares_memory) return true;
  void* address = nullptr;
  if (vkMapMemory(device_.handle(), memory_, 0, VK_WHOLE_SIZE, 0, &address) != VK_SUCCESS) return false;
  host_ = static_cast<std::byte*>(address);
  return true;
}

Allocation::~Allocation() {
  if (is_own_) vkDestroyBuffer(device_.handle(), buffer_, nullptr);
  vkFreeMemory(device_.handle(), memory_, nullptr);
}

Block::~Block() { queue_->finish(last_use); }

std::unique_ptr<Block> allocate_block(const std::shared_ptr<Queue>& queue, Slabs<Allocation>& slabs, size_t bytes) {
  const size_t whole = whole_block(bytes);
  auto place = slabs.take(whole, [&](size_t piece) { return Allocation::make(queue->device(), piece, Placement::device); });
  return place ? std::make_unique<Block>(queue, std::move(place->piece), place->offset, whole, std::move(place->taken)) : nullptr;
}

}  // namespace wick::vulkan
