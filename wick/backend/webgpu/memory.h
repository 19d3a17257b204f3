// The memory of a device: one buffer of WebGPU's for each block.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "wick/backend/webgpu/device.h"
#include "wick/device/buffer.h"

namespace wick::webgpu {

class Queue;

class Block final : public Buffer {
 public:
  // `owner`: of a buffer that is somebody else's.
  Block(std::shared_ptr<Queue> queue, Owned<BufferHandle> handle, size_t bytes, std::shared_ptr<const void> owner = nullptr)
      : queue_(std::move(queue)), owner_(std::move(owner)), handle_(std::move(handle)), bytes_(bytes) {}
  ~Block() override;

  [[nodiscard]] size_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] std::byte* host_data() noexcept override { return nullptr; }
  [[nodiscard]] BufferHandle handle() const noexcept { return handle_.get(); }

  // The last submission that has a command on it, which may not be handed over yet; and whether a bind group ever named it.
  uint64_t last_use = 0;  // under the queue's lock
  std::atomic<bool> is_bound = false;

 private:
  std::shared_ptr<Queue> queue_;
  std::shared_ptr<const void> owner_;
  Owned<BufferHandle> handle_;  // WebGPU keeps what queued work uses
  size_t bytes_;
};

// A buffer of these usages; null where the device has no more memory. Errors: unsupported for more bytes than it takes in one;
// WebGpuError.
[[nodiscard]] Owned<BufferHandle> make_buffer(Device& device, size_t bytes, Flags usage);

// nullptr where there is no more memory. Errors: make_buffer's.
[[nodiscard]] std::unique_ptr<Block> allocate_block(const std::shared_ptr<Queue>& queue, size_t bytes);

}  // namespace wick::webgpu
