// Host memory for tensors: freed blocks are kept by size class and given out again, so that a forward pass asks the system for nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "wick/backend/cpu/page_arena.h"
#include "wick/device/runtime.h"

namespace wick::cpu {

class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  MemoryPool() = default;
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;
  ~MemoryPool();

  // Uninitialised, aligned to 64 bytes. Errors: out_of_memory with the size and what the machine has left.
  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes, Lifetime lifetime);
  // Frees cached memory except `most_bytes` of it, and resets the peak.
  void release_kept(size_t most_bytes) noexcept;
  [[nodiscard]] size_t allocated_bytes() const noexcept { return now_.load(std::memory_order_relaxed); }
  [[nodiscard]] size_t peak_allocated_bytes() const noexcept { return peak_.load(std::memory_order_relaxed); }

 private:
  class SmallBuffer;
  class PooledBuffer;
  // Three ways, by size. Up to 64 KiB: each thread's own cache (base/block_cache.h), the buffer's object in the same block. Up to 16 MiB:
  // powers of two, shared by all threads. Larger: mapped pages; the last few that were freed are kept, since a page that the system
  // gives must be zeroed first, which takes several times as long as an op takes to write it. Persistent blocks lie in a PageArena.
  static constexpr size_t kSmallestClass = 16;
  static constexpr size_t kLargestClass = 24;
  static constexpr size_t kArena = kLargestClass + 1;
  static constexpr size_t kMapped = kArena + 1;
  static constexpr size_t kKept = kMapped + 1;  // mapped, and kept when it is freed
  // The most bytes of large blocks that are kept.
  static constexpr size_t kKeptBytes = size_t{256} << 20;

  struct LargeBlock {
    std::byte* data;
    size_t capacity;
  };

  [[nodiscard]] std::unique_ptr<Buffer> allocate_small(size_t bytes);
  [[nodiscard]] LargeBlock take(size_t capacity, size_t size_class);
  [[nodiscard]] std::byte* take_persistent(size_t bytes);
  [[nodiscard]] LargeBlock take_kept(size_t capacity);
  void give_back(std::byte* data, size_t capacity, size_t size_class) noexcept;
  void keep(LargeBlock block);
  void drop_kept(size_t most_bytes);
  void count(size_t bytes) noexcept;

  std::mutex mutex_;
  std::array<std::vector<std::byte*>, kLargestClass + 1> free_;
  PageArena arena_;
  std::vector<LargeBlock> kept_;  // the longest kept first
  size_t kept_bytes_ = 0;
  std::atomic<size_t> now_{0};
  std::atomic<size_t> peak_{0};
};

}  // namespace wick::cpu
