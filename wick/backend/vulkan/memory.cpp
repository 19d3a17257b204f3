#include "wick/backend/vulkan/memory.h"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <utility>

#include "wick/backend/vulkan/queue.h"

namespace wick::vulkan {
namespace {

constexpr size_t kGranule = 256;            // the largest alignment of a storage buffer that Vulkan allows a driver to ask for
constexpr size_t kSmall = size_t{1} << 20;  // smaller blocks come from slabs
constexpr size_t kSlabBytes = size_t{4} << 20;

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
  auto info = typed<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  if (bytes > device_.physical().max_allocation) return false;
  if (vkCreateBuffer(device_.handle(), &info, nullptr, &buffer_) != VK_SUCCESS) return false;
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device_.handle(), buffer_, &needs);
  const std::optional<uint32_t> type = type_for(device_.physical(), needs.memoryTypeBits, placement);
  if (!type || needs.size > device_.physical().max_allocation) return false;
  auto piece = typed<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  piece.allocationSize = needs.size;
  piece.memoryTypeIndex = *type;
  if (vkAllocateMemory(device_.handle(), &piece, nullptr, &memory_) != VK_SUCCESS) return false;
  if (vkBindBufferMemory(device_.handle(), buffer_, memory_, 0) != VK_SUCCESS) return false;
  if (placement == Placement::device && !device_.physical().shares_memory) return true;
  void* address = nullptr;
  if (vkMapMemory(device_.handle(), memory_, 0, VK_WHOLE_SIZE, 0, &address) != VK_SUCCESS) return false;
  host_ = static_cast<std::byte*>(address);
  return true;
}

Allocation::~Allocation() {
  vkDestroyBuffer(device_.handle(), buffer_, nullptr);
  vkFreeMemory(device_.handle(), memory_, nullptr);
}

Slab::Slab(std::shared_ptr<Allocation> allocation, size_t block_bytes, size_t blocks) : allocation_(std::move(allocation)) {
  for (size_t i = blocks; i > 0; --i) free_.push_back((i - 1) * block_bytes);
}

std::optional<size_t> Slab::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return std::nullopt;
  const size_t offset = free_.back();
  free_.pop_back();
  return offset;
}

void Slab::give_back(size_t offset) {
  const std::lock_guard lock(mutex_);
  free_.push_back(offset);
}

Block::~Block() {
  queue_->finish(last_use);
  if (slab_ != nullptr) slab_->give_back(offset_);
}

std::unique_ptr<Block> Memory::allocate(size_t bytes) {
  const size_t whole = std::max(kGranule, (bytes + kGranule - 1) / kGranule * kGranule);
  if (whole < kSmall) return allocate_small(whole);
  std::shared_ptr<Allocation> allocation = Allocation::make(queue_->device(), whole, Placement::device);
  if (allocation == nullptr) return nullptr;
  return std::make_unique<Block>(queue_, std::move(allocation), 0, whole, nullptr);
}

std::unique_ptr<Block> Memory::allocate_small(size_t bytes) {
  const size_t block_bytes = std::bit_ceil(bytes);
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Slab>>& slabs = slabs_[block_bytes];
  for (const std::shared_ptr<Slab>& slab : slabs) {
    if (const std::optional<size_t> offset = slab->take()) {
      return std::make_unique<Block>(queue_, slab->allocation(), *offset, bytes, slab);
    }
  }
  // The smallest blocks are the most, and no slab of theirs should be larger than all of them.
  const size_t blocks = std::min<size_t>(kSlabBytes / block_bytes, 256);
  std::shared_ptr<Allocation> allocation = Allocation::make(queue_->device(), blocks * block_bytes, Placement::device);
  if (allocation == nullptr) return nullptr;
  slabs.push_back(std::make_shared<Slab>(allocation, block_bytes, blocks));
  return std::make_unique<Block>(queue_, std::move(allocation), slabs.back()->take().value(), bytes, slabs.back());
}

}  // namespace wick::vulkan
