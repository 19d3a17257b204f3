#include "wick/base/block_cache.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>

namespace wick {
namespace {

constexpr size_t kSmallestClass = 6;  // 64 bytes, as powers of two
constexpr size_t kClasses = std::bit_width(kLargestCachedBlock);
// What one thread keeps of one size: this many bytes, but some blocks of each.
constexpr size_t kKeptBytes = size_t{1} << 18;
constexpr size_t kFewestKept = 8;
constexpr size_t kMaxKept = 256;

struct FreeBlock {
  FreeBlock* next;
};

// No destructor: a static object may give back a block when this thread's own objects are gone.
struct ThreadBlocks {
  std::array<FreeBlock*, kClasses> first{};
  std::array<uint32_t, kClasses> count{};
  bool closed = false;
};
constinit thread_local ThreadBlocks blocks;

// Frees what the thread has kept when it ends.
struct Sweeper {
  Sweeper() = default;
  Sweeper(const Sweeper&) = delete;
  Sweeper& operator=(const Sweeper&) = delete;
  ~Sweeper() {
    blocks.closed = true;
    for (FreeBlock*& list : blocks.first) {
      while (list != nullptr) {
        FreeBlock* next = list->next;
        std::free(list);
        list = next;
      }
    }
  }
  void arm() noexcept {}
};

size_t class_of(size_t bytes) { return std::max<size_t>(kSmallestClass, std::bit_width(bytes - 1)); }

}  // namespace

void* take_block(size_t bytes) noexcept {
  const size_t rounded = std::max<size_t>(bytes, 1);
  if (rounded > kLargestCachedBlock) {
    return std::aligned_alloc(kBlockAlignment, (rounded + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment);
  }
  const size_t size_class = class_of(rounded);
  FreeBlock*& list = blocks.first[size_class];
  if (list == nullptr) return std::aligned_alloc(kBlockAlignment, size_t{1} << size_class);
  FreeBlock* block = list;
  list = block->next;
  --blocks.count[size_class];
  return block;
}

void give_block(void* block, size_t bytes) noexcept {
  const size_t size_class = class_of(std::max<size_t>(bytes, 1));
  if (bytes > kLargestCachedBlock || blocks.closed) return std::free(block);
  const size_t kept = std::clamp(kKeptBytes >> size_class, kFewestKept, kMaxKept);
  if (blocks.count[size_class] >= kept) return std::free(block);
  static thread_local Sweeper sweeper;
  sweeper.arm();
  blocks.first[size_class] = ::new (block) FreeBlock{blocks.first[size_class]};
  ++blocks.count[size_class];
}

}  // namespace wick
