#include "wick/device/caching_allocator.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "wick/base/fail.h"

namespace wick {

// Under the allocator's mutex.
class CachingAllocator::Arena {
 public:
  explicit Arena(std::shared_ptr<CachingAllocator> owner) : owner_(std::move(owner)) {}
  ~Arena() {
    const std::lock_guard lock(owner_->mutex_);
    for (auto& [bytes, block] : kept_) {
      owner_->statistics_.allocated -= block.used;
      owner_->kept_.emplace(bytes, std::move(block.memory));
    }
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // What is kept stays allocated: replays use it.
  void keep(size_t block_bytes, std::unique_ptr<Buffer> memory, size_t used) { kept_.emplace(block_bytes, Block{std::move(memory), used}); }
  // nullptr: none of that size.
  [[nodiscard]] std::unique_ptr<Buffer> take(size_t block_bytes) {
    const auto found = kept_.find(block_bytes);
    if (found == kept_.end()) return nullptr;
    owner_->statistics_.allocated -= found->second.used;
    std::unique_ptr<Buffer> memory = std::move(found->second.memory);
    kept_.erase(found);
    return memory;
  }

 private:
  struct Block {
    std::unique_ptr<Buffer> memory;
    size_t used;  // of its bytes
  };
  std::shared_ptr<CachingAllocator> owner_;
  std::multimap<size_t, Block> kept_;
};

// A block that goes back to its arena, or to its pool if it has one, with its last handle.
struct PooledBlock {
  PooledBlock(std::shared_ptr<CachingAllocator> owner, std::unique_ptr<Buffer> memory, size_t size, Lifetime kind,
              std::shared_ptr<CachingAllocator::Arena> from)
      : pool(std::move(owner)), block(std::move(memory)), bytes(size), lifetime(kind), arena(std::move(from)) {}
  ~PooledBlock() {
    if (pool != nullptr) pool->take_back(std::move(block), bytes, lifetime, arena.get());
  }
  PooledBlock(const PooledBlock&) = delete;
  PooledBlock& operator=(const PooledBlock&) = delete;

  std::shared_ptr<CachingAllocator> pool;  // nullptr: none
  std::unique_ptr<Buffer> block;
  size_t bytes;
  Lifetime lifetime;
  std::shared_ptr<CachingAllocator::Arena> arena;  // nullptr: none
};

namespace {

class PooledBuffer final : public Buffer {
 public:
  explicit PooledBuffer(std::shared_ptr<PooledBlock> block) : block_(std::move(block)) {}

  [[nodiscard]] size_t bytes() const noexcept override { return block_->bytes; }
  [[nodiscard]] std::byte* host_data() noexcept override { return nullptr; }
  [[nodiscard]] Place place() noexcept override { return {block_->block.get(), 0}; }
  [[nodiscard]] const std::shared_ptr<PooledBlock>& block() const noexcept { return block_; }

 private:
  std::shared_ptr<PooledBlock> block_;
};

// A place in a block that an arena keeps.
class ArenaBuffer final : public Buffer {
 public:
  ArenaBuffer(Buffer* block, size_t bytes) : block_(block), bytes_(bytes) {}

  [[nodiscard]] size_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] std::byte* host_data() noexcept override { return nullptr; }
  [[nodiscard]] Place place() noexcept override { return {block_, 0}; }

 private:
  Buffer* block_;
  size_t bytes_;
};

// Kernels read words, and vectors of four of them: a buffer ends where such a vector does.
constexpr size_t kGranule = 256;

// Four classes between powers of two waste at most a quarter.
size_t block_bytes(size_t bytes, Lifetime lifetime) {
  const size_t whole = std::max(kGranule, (bytes + kGranule - 1) / kGranule * kGranule);
  if (lifetime == Lifetime::persistent || whole <= 4 * kGranule) return whole;
  const size_t step = std::bit_floor(whole) / 4;
  return (whole + step - 1) / step * step;  // NOLINT(clang-analyzer-core.DivideZero): of more than four granules
}

}  // namespace

std::shared_ptr<CachingAllocator::Arena> CachingAllocator::make_arena() { return std::make_shared<Arena>(shared_from_this()); }

std::unique_ptr<Buffer> CachingAllocator::take(size_t wanted, size_t bytes) {
  std::unique_ptr<Buffer> block;
  if (const auto found = kept_.find(wanted); found != kept_.end()) {
    block = std::move(found->second);
    kept_.erase(found);
    return block;
  }
  block = driver_->allocate(wanted);
  if (block == nullptr) {
    give_back_kept();
    block = driver_->allocate(wanted);
  }
  if (block == nullptr) {
    const std::optional<size_t> free = driver_->free_bytes();
    fail(ErrorCode::out_of_memory, "{}: out of memory: requested {} bytes, {} of {} in use{}", driver_->caps().name, bytes,
         statistics_.allocated, driver_->caps().memory_bytes, free ? fmt::format(", {} free", *free) : "");
  }
  statistics_.reserved += wanted;
  ++statistics_.driver_calls;
  return block;
}

std::unique_ptr<Buffer> CachingAllocator::allocate(size_t bytes, Lifetime lifetime, const std::shared_ptr<Arena>& arena) {
  const size_t wanted = block_bytes(bytes, lifetime);
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Buffer> block = arena != nullptr ? arena->take(wanted) : nullptr;
  if (block == nullptr) block = take(wanted, bytes);
  statistics_.allocated += bytes;
  statistics_.peak_allocated = std::max(statistics_.peak_allocated, statistics_.allocated);
  return std::make_unique<PooledBuffer>(std::make_shared<PooledBlock>(shared_from_this(), std::move(block), bytes, lifetime, arena));
}

std::unique_ptr<Buffer> CachingAllocator::adopt(std::unique_ptr<Buffer> block, size_t bytes) {
  return std::make_unique<PooledBuffer>(std::make_shared<PooledBlock>(nullptr, std::move(block), bytes, Lifetime::persistent, nullptr));
}

std::shared_ptr<Buffer> CachingAllocator::share(Buffer& buffer, const std::shared_ptr<Arena>& arena) {
  const auto* const pooled = dynamic_cast<PooledBuffer*>(&buffer);
  if (pooled == nullptr)
    fail(ErrorCode::unsupported, "{}: memory of somebody else's cannot be recorded; copy it first", driver_->caps().name);
  const std::shared_ptr<PooledBlock>& block = pooled->block();
  if (arena != nullptr && block->arena == arena) return std::make_shared<ArenaBuffer>(block->block.get(), block->bytes);
  return std::make_shared<PooledBuffer>(block);
}

void CachingAllocator::take_back(std::unique_ptr<Buffer> block, size_t bytes, Lifetime lifetime, Arena* arena) {
  const std::lock_guard lock(mutex_);
  if (arena != nullptr) return arena->keep(block_bytes(bytes, lifetime), std::move(block), bytes);
  statistics_.allocated -= bytes;
  kept_.emplace(block_bytes(bytes, lifetime), std::move(block));
}

void CachingAllocator::release_kept() {
  const std::lock_guard lock(mutex_);
  give_back_kept();
}

void CachingAllocator::give_back_kept() {
  driver_->queue().synchronize();
  for (const auto& entry : kept_) statistics_.reserved -= entry.first;
  kept_.clear();
}

AllocatorStatistics CachingAllocator::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

}  // namespace wick
