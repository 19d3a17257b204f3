#include "wick/device/caching_allocator.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "wick/base/fail.h"

namespace wick {

// A block that goes back to its pool with its last handle.
struct PooledBlock {
  PooledBlock(std::shared_ptr<CachingAllocator> owner, std::unique_ptr<Buffer> memory, size_t size, Lifetime kind)
      : pool(std::move(owner)), block(std::move(memory)), bytes(size), lifetime(kind) {}
  ~PooledBlock() { pool->take_back(std::move(block), bytes, lifetime); }
  PooledBlock(const PooledBlock&) = delete;
  PooledBlock& operator=(const PooledBlock&) = delete;

  std::shared_ptr<CachingAllocator> pool;
  std::unique_ptr<Buffer> block;
  size_t bytes;
  Lifetime lifetime;
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

std::unique_ptr<Buffer> CachingAllocator::allocate(size_t bytes, Lifetime lifetime) {
  const size_t wanted = block_bytes(bytes, lifetime);
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Buffer> block;
  if (const auto found = kept_.find(wanted); found != kept_.end()) {
    block = std::move(found->second);
    kept_.erase(found);
  } else {
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
  }
  statistics_.allocated += bytes;
  statistics_.peak_allocated = std::max(statistics_.peak_allocated, statistics_.allocated);
  return std::make_unique<PooledBuffer>(std::make_shared<PooledBlock>(shared_from_this(), std::move(block), bytes, lifetime));
}

std::shared_ptr<Buffer> CachingAllocator::share(Buffer& buffer) {
  const auto* const pooled = dynamic_cast<PooledBuffer*>(&buffer);
  if (pooled == nullptr)
    fail(ErrorCode::unsupported, "{}: memory of somebody else's cannot be recorded; copy it first", driver_->caps().name);
  return std::make_shared<PooledBuffer>(pooled->block());
}

void CachingAllocator::take_back(std::unique_ptr<Buffer> block, size_t bytes, Lifetime lifetime) {
  const std::lock_guard lock(mutex_);
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
