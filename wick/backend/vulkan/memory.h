// The memory of a device: pieces of it, and the blocks that buffers are made of.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "wick/backend/vulkan/device.h"
#include "wick/device/buffer.h"
#include "wick/device/submissions/slabs.h"

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
  // A buffer of somebody else's, who destroys it.
  Allocation(const Device& device, VkBuffer buffer) : device_(device), buffer_(buffer), is_own_(false) {}
  ~Allocation();
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  [[nodiscard]] VkBuffer buffer() const noexcept { return buffer_; }
  [[nodiscard]] std::byte* host() const noexcept { return host_; }

 private:
  [[nodiscard]] bool allocate(size_t bytes, Placement placement);

  const Device& device_;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  bool is_own_ = true;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  std::byte* host_ = nullptr;
};

class Block final : public Buffer {
 public:
  // `owner`: whose place in the allocation it is, until the block goes; nullptr: the allocation is its own.
  Block(std::shared_ptr<Queue> queue, std::shared_ptr<Allocation> allocation, size_t offset, size_t bytes,
        std::shared_ptr<const void> owner)
      : queue_(std::move(queue)), owner_(std::move(owner)), allocation_(std::move(allocation)), offset_(offset), bytes_(bytes) {}
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
  std::shared_ptr<const void> owner_;
  std::shared_ptr<Allocation> allocation_;
  size_t offset_, bytes_;
};

// nullptr where there is no more memory.
[[nodiscard]] std::unique_ptr<Block> allocate_block(const std::shared_ptr<Queue>& queue, Slabs<Allocation>& slabs, size_t bytes);

}  // namespace wick::vulkan
