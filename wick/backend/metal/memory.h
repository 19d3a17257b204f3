// The memory of a device: one buffer of Metal's for each block, which the processor reads and writes too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "wick/backend/metal/device.h"
#include "wick/device/buffer.h"

namespace wick::metal {

class Queue;

class Block final : public Buffer {
 public:
  // `first`: where in the buffer the block begins. `owner`: of memory that is somebody else's. Without a queue it is the queue's own, which
  // sees to its residency.
  Block(std::shared_ptr<Queue> queue, Owned<id<MTLBuffer>> handle, size_t first, size_t bytes, std::shared_ptr<const void> owner = nullptr);
  ~Block() override;

  [[nodiscard]] size_t bytes() const noexcept override { return bytes_; }
  // Work may still be queued for it, so nobody but the queue has its address.
  [[nodiscard]] std::byte* host_data() noexcept override { return nullptr; }
  [[nodiscard]] std::byte* contents() const noexcept { return static_cast<std::byte*>([handle_.get() contents]) + first_; }
  [[nodiscard]] id<MTLBuffer> handle() const noexcept { return handle_.get(); }
  [[nodiscard]] size_t first() const noexcept { return first_; }

  // The last submission that has a command on it, which may not be handed over yet.
  uint64_t last_use = 0;  // under the queue's lock

 private:
  std::shared_ptr<Queue> queue_;
  Owned<id<MTLBuffer>> handle_;  // a command buffer keeps what it uses
  size_t first_, bytes_;
  std::shared_ptr<const void> owner_;
};

// nullptr where there is no more memory. Errors: unsupported for more bytes than the device takes in one buffer.
[[nodiscard]] std::unique_ptr<Block> allocate_block(const std::shared_ptr<Queue>& queue, size_t bytes);
// A block over the pages of memory that `owner` keeps; nullptr where they cannot be the device's: too many for one buffer, or not aligned
// as kernels need them.
[[nodiscard]] std::unique_ptr<Block> import_block(const std::shared_ptr<Queue>& queue, std::byte* data, size_t bytes,
                                                  std::shared_ptr<const void> owner);

}  // namespace wick::metal
