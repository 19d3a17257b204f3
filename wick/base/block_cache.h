// Small blocks of host memory that freed ones are made of again: each thread keeps a few of each size, so that taking one and giving it
// back needs neither a lock nor the system. A block may be given back by another thread than took it.
#pragma once

#include <cstddef>
#include <new>

namespace wick {

inline constexpr size_t kBlockAlignment = 64;
// Larger blocks are not kept.
inline constexpr size_t kLargestCachedBlock = size_t{1} << 16;

// Uninitialised, aligned to kBlockAlignment; nullptr where the system has no memory.
[[nodiscard]] void* take_block(size_t bytes) noexcept;
// `bytes` as in take_block.
void give_block(void* block, size_t bytes) noexcept;

// For objects that live as short as the results of ops: std::allocate_shared and the control blocks of shared pointers.
template <class T>
struct BlockAllocator {
  using value_type = T;

  BlockAllocator() = default;
  template <class Other>
  BlockAllocator(const BlockAllocator<Other>& /*other*/) noexcept {}  // NOLINT: allocators convert

  [[nodiscard]] T* allocate(size_t count) {
    void* block = take_block(count * sizeof(T));
    if (block == nullptr) throw std::bad_alloc();
    return static_cast<T*>(block);
  }
  void deallocate(T* block, size_t count) noexcept { give_block(block, count * sizeof(T)); }

  friend bool operator==(const BlockAllocator&, const BlockAllocator&) { return true; }
};

}  // namespace wick
