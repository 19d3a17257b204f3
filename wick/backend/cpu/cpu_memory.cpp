#include "wick/backend/cpu/cpu_memory.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>
#include <utility>

#include "wick/base/block_cache.h"
#include "wick/base/fail.h"
#include "wick/base/process.h"

namespace wick::cpu {
namespace {

[[noreturn]] void fail_for_lack_of(size_t bytes) {
  fail(ErrorCode::out_of_memory, "cpu: out of memory: requested {} bytes, {} available", bytes, available_memory_bytes());
}

// The system gives address space freely and kills whoever then writes to too much of it, so a request beyond the memory is refused here:
// beyond what is available and not handed out already, though nobody has written to it yet.
bool fits(size_t bytes, uint64_t handed_out) {
  const uint64_t available = available_memory_bytes();
  if (available == 0) return true;
  const uint64_t promised = handed_out - std::min<uint64_t>(handed_out, anonymous_resident_bytes());
  return promised <= available && bytes <= available - promised;
}

std::byte* map(size_t bytes, uint64_t handed_out) {
  return fits(bytes, handed_out) ? static_cast<std::byte*>(map_zeroed_pages(bytes)) : nullptr;
}

}  // namespace

// At the start of its own block; the elements begin kBlockAlignment bytes behind. The block's size stands behind the object, where it
// outlives it.
class MemoryPool::SmallBuffer final : public Buffer {
 public:
  static constexpr size_t kSizeOffset = kBlockAlignment - sizeof(size_t);

  SmallBuffer(std::shared_ptr<MemoryPool> pool, size_t bytes) : pool_(std::move(pool)), bytes_(bytes) {}
  ~SmallBuffer() override { pool_->now_.fetch_sub(bytes_, std::memory_order_relaxed); }
  static void operator delete(void* block) noexcept {
    give_block(block, *reinterpret_cast<size_t*>(static_cast<std::byte*>(block) + kSizeOffset));
  }

  [[nodiscard]] size_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] std::byte* host_data() noexcept override { return reinterpret_cast<std::byte*>(this) + kBlockAlignment; }

 private:
  std::shared_ptr<MemoryPool> pool_;
  size_t bytes_;
};

class MemoryPool::PooledBuffer final : public Buffer {
 public:
  PooledBuffer(std::shared_ptr<MemoryPool> pool, LargeBlock block, size_t bytes, size_t size_class)
      : pool_(std::move(pool)), block_(block), bytes_(bytes), size_class_(size_class) {}
  ~PooledBuffer() override {
    pool_->now_.fetch_sub(bytes_, std::memory_order_relaxed);
    pool_->give_back(block_.data, block_.capacity, size_class_);
  }

  [[nodiscard]] size_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] std::byte* host_data() noexcept override { return block_.data; }

 private:
  std::shared_ptr<MemoryPool> pool_;
  LargeBlock block_;
  size_t bytes_;
  size_t size_class_;
};

MemoryPool::~MemoryPool() {
  for (const std::vector<std::byte*>& list : free_) {
    for (std::byte* data : list) std::free(data);
  }
  drop_kept(0);
}

void MemoryPool::release_kept(size_t most_bytes) noexcept {
  peak_.store(allocated_bytes(), std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  size_t left = most_bytes;
  for (size_t size_class = kSmallestClass; size_class <= kLargestClass; ++size_class) {
    std::vector<std::byte*>& list = free_[size_class];
    for (const size_t most = left >> size_class; list.size() > most; list.pop_back()) std::free(list.back());
    left -= list.size() << size_class;
  }
  drop_kept(left);
}

void MemoryPool::count(size_t bytes) noexcept {
  const size_t now = now_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  size_t peak = peak_.load(std::memory_order_relaxed);
  while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {}
}

std::unique_ptr<Buffer> MemoryPool::allocate_small(size_t bytes) {
  static_assert(sizeof(SmallBuffer) <= SmallBuffer::kSizeOffset);
  const size_t size = kBlockAlignment + bytes;
  void* block = take_block(size);
  if (block == nullptr) fail_for_lack_of(bytes);
  *reinterpret_cast<size_t*>(static_cast<std::byte*>(block) + SmallBuffer::kSizeOffset) = size;
  return std::unique_ptr<Buffer>(::new (block) SmallBuffer(shared_from_this(), bytes));
}

MemoryPool::LargeBlock MemoryPool::take(size_t capacity, size_t size_class) {
  std::byte* data = nullptr;
  if (size_class <= kLargestClass) {
    {
      const std::lock_guard lock(mutex_);
      std::vector<std::byte*>& list = free_[size_class];
      if (!list.empty()) {
        data = list.back();
        list.pop_back();
        return {data, capacity};
      }
    }
    data = static_cast<std::byte*>(std::aligned_alloc(kBlockAlignment, capacity));
  } else if (size_class == kArena) {
    data = take_persistent(capacity);
  } else {
    if (size_class == kKept) {
      if (const LargeBlock block = take_kept(capacity); block.data != nullptr) return block;
    }
    data = map(capacity, allocated_bytes());
    if (data == nullptr) {
      {
        const std::lock_guard lock(mutex_);
        drop_kept(0);
      }
      data = map(capacity, allocated_bytes());
    }
  }
  if (data == nullptr) fail_for_lack_of(capacity);
  return {data, capacity};
}

std::byte* MemoryPool::take_persistent(size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!fits(bytes, allocated_bytes())) drop_kept(0);
  return fits(bytes, allocated_bytes()) ? arena_.take(bytes) : nullptr;
}

// The kept block that fits best, at most an eighth too large.
MemoryPool::LargeBlock MemoryPool::take_kept(size_t capacity) {
  const std::lock_guard lock(mutex_);
  auto best = kept_.end();
  for (auto block = kept_.begin(); block != kept_.end(); ++block) {
    if (block->capacity < capacity || block->capacity > capacity + capacity / 8) continue;
    if (best == kept_.end() || block->capacity <= best->capacity) best = block;
  }
  if (best == kept_.end()) return {nullptr, 0};
  const LargeBlock block = *best;
  kept_.erase(best);
  kept_bytes_ -= block.capacity;
  return block;
}

void MemoryPool::drop_kept(size_t most_bytes) {
  while (kept_bytes_ > most_bytes) {
    unmap_pages(kept_.front().data, kept_.front().capacity);
    kept_bytes_ -= kept_.front().capacity;
    kept_.erase(kept_.begin());
  }
}

void MemoryPool::keep(LargeBlock block) {
  const std::lock_guard lock(mutex_);
  kept_.push_back(block);
  kept_bytes_ += block.capacity;
  drop_kept(kKeptBytes);
}

std::unique_ptr<Buffer> MemoryPool::allocate(size_t bytes, Lifetime lifetime) {
  std::unique_ptr<Buffer> buffer;
  if (lifetime == Lifetime::transient && kBlockAlignment + bytes <= kLargestCachedBlock) {
    buffer = allocate_small(bytes);
  } else {
    size_t capacity = bytes == 0 ? kBlockAlignment : bytes;
    size_t size_class = lifetime == Lifetime::persistent ? kArena : kMapped;
    if (lifetime == Lifetime::transient && capacity <= size_t{1} << kLargestClass) {
      size_class = std::max<size_t>(kSmallestClass, static_cast<size_t>(std::bit_width(capacity - 1)));
      capacity = size_t{1} << size_class;
    } else if (lifetime == Lifetime::transient && capacity <= kKeptBytes) {
      size_class = kKept;
      capacity = (capacity + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
    }
    buffer = std::make_unique<PooledBuffer>(shared_from_this(), take(capacity, size_class), bytes, size_class);
  }
  count(bytes);
  return buffer;
}

void MemoryPool::give_back(std::byte* data, size_t capacity, size_t size_class) noexcept {
  if (size_class <= kLargestClass) {
    const std::lock_guard lock(mutex_);
    free_[size_class].push_back(data);
  } else if (size_class == kArena) {
    const std::lock_guard lock(mutex_);
    arena_.give_back(data, capacity);
  } else if (size_class == kKept) {
    keep({data, capacity});
  } else {
    unmap_pages(data, capacity);
  }
}

}  // namespace wick::cpu
