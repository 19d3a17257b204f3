// A Buffer is a span of one device's memory. Its bytes are freed, or given back to their owner, when it goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace [[gnu::visibility("default")]] wick {

class Buffer {
 public:
  Buffer() = default;
  virtual ~Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] virtual size_t bytes() const noexcept = 0;
  // The address in host memory, where the device has it there (DeviceCaps::host_memory); nullptr otherwise.
  [[nodiscard]] virtual std::byte* host_data() noexcept = 0;
  [[nodiscard]] const std::byte* host_data() const noexcept { return const_cast<Buffer*>(this)->host_data(); }

  // Where the bytes lie: the block of memory that the backend made, and the place of the first of them in it. A pool hands out parts of
  // blocks; a buffer that is itself such a block is at 0.
  struct Place {
    Buffer* block;
    size_t offset;
  };
  [[nodiscard]] virtual Place place() noexcept { return {this, 0}; }
  [[nodiscard]] Place place() const noexcept { return const_cast<Buffer*>(this)->place(); }
};

// A buffer over host memory that somebody else owns, such as a mapped file; `owner` keeps it alive.
[[nodiscard]] std::unique_ptr<Buffer> wrap_host_memory(std::byte* data, size_t bytes, std::shared_ptr<const void> owner);

}  // namespace wick
