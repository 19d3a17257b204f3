// The memory of a device: pieces of it, and the blocks that buffers are made of.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "wick/backend/vulkan/device.h"
#include "wick/device/buffer.h"

namespace wick::vulkan {

class Queue;

// device: where kernels are fastest, and the host writes too if they share their memory. upload, download: where the host writes, reads.
enum class Placement { device, upload, download };

// One piece of memory with a VkBuffer over it, mapped where the host is to see it.
class Allocation {
 public:
  // nullptr where there is no more.
  [[nodiscard]] static std::shared_ptr<Allocation> make(const Device& device, size_t bytes, Placement placement);
  explicit Allocation(const Device& device) : device_(device) {}
  ~Allocation();
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  [[nodiscard]] VkBuffer buffer() const noexcept { return buffer_; }
  [[nodiscard]] std::byte* host() const noexcept { return host_; }

 private:
  [[nodiscard]] bool allocate(size_t bytes, Placement placement);

  const Device& device_;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  std::byte* host_ = nullptr;
};

// An allocation that is cut into blocks of one size: drivers give few allocations, and slowly.
class Slab {
 public:
  Slab(std::shared_ptr<Allocation> allocation, size_t block_bytes, size_t blocks);

  [[nodiscard]] const std::shared_ptr<Allocation>& allocation() const noexcept { return allocation_; }
  // The place of a block that is free.
  [[nodiscard]] std::optional<size_t> take();
  void give_back(size_t offset);

 private:
  std::shared_ptr<Allocation> allocation_;
  std::mutex mutex_;
  std::vector<size_t> free_;
};

class Block final : public Buffer {
 public:
  Block(std::shared_ptr<Queue> queue, std::shared_ptr<Allocation> allocation, size_t offset, size_t bytes, std::shared_ptr<Slab> slab)
      : queue_(std::move(queue)), slab_(std::move(slab)), allocation_(std::move(allocation)), offset_(offset), bytes_(bytes) {}
  ~Block() override;

  [[nodiscard]] size_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] std::byte* host_data() noexcept override { return nullptr; }

  [[nodiscard]] VkBuffer buffer() const noexcept { return allocation_->buffer(); }
  [[nodiscard]] size_t offset() const noexcept { return offset_; }  // in buffer()
  [[nodiscard]] std::byte* host() const noexcept { return allocation_->host() == nullptr ? nullptr : allocation_->host() + offset_; }
  // The last submission that touches it.
  std::atomic<uint64_t> last_use = 0;

 private:
  std::shared_ptr<Queue> queue_;
  std::shared_ptr<Slab> slab_;  // nullptr: the allocation is its own
  std::shared_ptr<Allocation> allocation_;
  size_t offset_, bytes_;
};

class Memory {
 public:
  explicit Memory(std::shared_ptr<Queue> queue) : queue_(std::move(queue)) {}
  // nullptr where there is no more.
  [[nodiscard]] std::unique_ptr<Block> allocate(size_t bytes);

 private:
  [[nodiscard]] std::unique_ptr<Block> allocate_small(size_t bytes);

  std::shared_ptr<Queue> queue_;
  std::mutex mutex_;
  std::map<size_t, std::vector<std::shared_ptr<Slab>>> slabs_;  // by the size of their blocks
};

}  // namespace wick::vulkan
