#include "wick/backend/vulkan/submission.h"

#include "wick/base/fail.h"

namespace wick::vulkan {
namespace {

constexpr uint32_t kSetsPerPool = 128;
constexpr uint32_t kBuffersPerSet = 6;  // on average; a pool that is full is followed by another

}  // namespace

Submission::Submission(const Device& device) : device_(device) {
  auto pool = typed<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  pool.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
  pool.queueFamilyIndex = device.physical().queue_family;
  check(vkCreateCommandPool(device.handle(), &pool, nullptr, &pool_), "vkCreateCommandPool");
  auto commands = typed<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  commands.commandPool = pool_;
  commands.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  commands.commandBufferCount = 1;
  check(vkAllocateCommandBuffers(device.handle(), &commands, &commands_), "vkAllocateCommandBuffers");
}

Submission::~Submission() {
  for (const VkDescriptorPool pool : descriptor_pools_) vkDestroyDescriptorPool(device_.handle(), pool, nullptr);
  vkDestroyCommandPool(device_.handle(), pool_, nullptr);
}

void Submission::begin(uint64_t serial) {
  serial_ = serial;
  launches = 0;
  staged_bytes = 0;
  bound = VK_NULL_HANDLE;
  piece_ = piece_offset_ = 0;
  for (size_t i = 0; i < descriptor_pools_.size() && i <= descriptor_pool_; ++i) {
    check(vkResetDescriptorPool(device_.handle(), descriptor_pools_[i], 0), "vkResetDescriptorPool");
  }
  descriptor_pool_ = 0;
  check(vkResetCommandPool(device_.handle(), pool_, 0), "vkResetCommandPool");
  auto info = typed<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  check(vkBeginCommandBuffer(commands_, &info), "vkBeginCommandBuffer");
}

void Submission::add_descriptor_pool() {
  const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kSetsPerPool * kBuffersPerSet};
  auto info = typed<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
  info.maxSets = kSetsPerPool;
  info.poolSizeCount = 1;
  info.pPoolSizes = &size;
  VkDescriptorPool pool = VK_NULL_HANDLE;
  check(vkCreateDescriptorPool(device_.handle(), &info, nullptr, &pool), "vkCreateDescriptorPool");
  descriptor_pools_.push_back(pool);
}

VkDescriptorSet Submission::descriptor_set(VkDescriptorSetLayout layout) {
  auto info = typed<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
  info.descriptorSetCount = 1;
  info.pSetLayouts = &layout;
  while (true) {
    const bool fresh = descriptor_pool_ == descriptor_pools_.size();
    if (fresh) add_descriptor_pool();
    info.descriptorPool = descriptor_pools_[descriptor_pool_];
    VkDescriptorSet set = VK_NULL_HANDLE;
    const VkResult result = vkAllocateDescriptorSets(device_.handle(), &info, &set);
    if (result == VK_SUCCESS) return set;
    const bool full = result == VK_ERROR_OUT_OF_POOL_MEMORY || result == VK_ERROR_FRAGMENTED_POOL;
    if (!full || fresh) check(result, "vkAllocateDescriptorSets");
    ++descriptor_pool_;
  }
}

std::optional<Submission::Piece> Submission::piece(size_t bytes) {
  WICK_ASSERT(bytes <= kPieceBytes);
  if (piece_offset_ + bytes > kPieceBytes) {
    ++piece_;
    piece_offset_ = 0;
  }
  if (piece_ == pieces_.size()) {
    std::shared_ptr<Allocation> allocation = Allocation::make(device_, kPieceBytes, Placement::upload);
    if (allocation == nullptr) return std::nullopt;
    pieces_.push_back(std::move(allocation));
  }
  const Piece piece{pieces_[piece_]->buffer(), piece_offset_, pieces_[piece_]->host() + piece_offset_};
  piece_offset_ += (bytes + 15) / 16 * 16;
  staged_bytes += bytes;
  return piece;
}

}  // namespace wick::vulkan
