// A Submission is a command buffer and all that its commands need until the device is done with them; then it is used again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "wick/backend/vulkan/memory.h"

namespace wick::vulkan {

class Submission {
 public:
  explicit Submission(const Device& device);
  ~Submission();
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;

  // Empties it and begins to record.
  void begin(uint64_t serial);
  [[nodiscard]] VkCommandBuffer commands() const noexcept { return commands_; }
  [[nodiscard]] uint64_t serial() const noexcept { return serial_; }
  [[nodiscard]] VkDescriptorSet descriptor_set(VkDescriptorSetLayout layout);

  // Memory of the host's for bytes on their way to the device, at most kPieceBytes; none where the host has no more.
  static constexpr size_t kPieceBytes = size_t{4} << 20;
  struct Piece {
    VkBuffer buffer;
    size_t offset;
    std::byte* host;
  };
  [[nodiscard]] std::optional<Piece> piece(size_t bytes);

  int launches = 0;
  size_t staged_bytes = 0;
  VkPipeline bound = VK_NULL_HANDLE;

 private:
  void add_descriptor_pool();

  const Device& device_;
  uint64_t serial_ = 0;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  std::vector<VkDescriptorPool> descriptor_pools_;
  size_t descriptor_pool_ = 0;  // the one in use
  std::vector<std::shared_ptr<Allocation>> pieces_;
  size_t piece_ = 0, piece_offset_ = 0;  // the next free byte
};

}  // namespace wick::vulkan
