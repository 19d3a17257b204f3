// Host memory for tensors: freed blocks are kept by size class and given out again, so that a forward pass asks the system for nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "device/runtime.h"

namespace wick::cpu {

class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  MemoryPool() = default;
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;
  ~MemoryPool();

  // Uninitialised, aligned to 64 bytes. Errors: out_of_memory with the size and what the machine has left.
  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes, Lifetime lifetime);
  [[nodiscard]] size_t allocated_bytes() const noexcept { return now_.load(); }
  [[nodiscard]] size_t peak_allocated_bytes() const noexcept { return peak_.load(); }

 private:
  class PooledBuffer;
  // Classes are powers of two from 64 bytes to 16 MiB; larger and persistent blocks are unpooled: mapped pages of their exact size.
  static constexpr size_t kSmallestClass = 6;
  static constexpr size_t kLargestClass = 24;
  static constexpr size_t kUnpooled = kLargestClass + 1;

  [[nodiscard]] std::byte* take(size_t capacity, size_t size_class);
  void give_back(std::byte* data, size_t bytes, size_t capacity, size_t size_class) noexcept;

  std::mutex mutex_;
  std::array<std::vector<std::byte*>, kLargestClass + 1> free_;
  std::atomic<size_t> now_{0};
  std::atomic<size_t> peak_{0};
};

}  // namespace wick::cpu
