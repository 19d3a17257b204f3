#include "backend/cpu/cpu_memory.h"

#include <bit>
#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "base/process.h"

namespace wick::cpu {
namespace {

constexpr size_t kAlignment = 64;

}  // namespace

class MemoryPool::PooledBuffer final : public Buffer {
 public:
  PooledBuffer(std::shared_ptr<MemoryPool> pool, std::byte* data, size_t bytes, size_t capacity, size_t size_class)
      : pool_(std::move(pool)), data_(data), bytes_(bytes), capacity_(capacity), size_class_(size_class) {}
  ~PooledBuffer() override { pool_->give_back(data_, bytes_, capacity_, size_class_); }

  [[nodiscard]] size_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] std::byte* host_data() noexcept override { return data_; }

 private:
  std::shared_ptr<MemoryPool> pool_;
  std::byte* data_;
  size_t bytes_;
  size_t capacity_;
  size_t size_class_;
};

MemoryPool::~MemoryPool() {
  for (const std::vector<std::byte*>& list : free_) {
    for (std::byte* data : list) std::free(data);
  }
}

std::byte* MemoryPool::take(size_t capacity, size_t size_class) {
  if (size_class != kUnpooled) {
    const std::lock_guard lock(mutex_);
    std::vector<std::byte*>& list = free_[size_class];
    if (!list.empty()) {
      std::byte* data = list.back();
      list.pop_back();
      return data;
    }
  }
  void* data = nullptr;
  if (size_class != kUnpooled) {
    data = std::aligned_alloc(kAlignment, capacity);
  } else if (const uint64_t available = available_memory_bytes(); available == 0 || capacity <= available) {
    // The system gives address space freely and kills whoever then writes to it, so a request beyond the memory is refused here.
    data = map_zeroed_pages(capacity);
  }
  if (data == nullptr) {
    fail(ErrorCode::out_of_memory, "cpu: cannot allocate {} bytes; {} bytes of memory are available; use a smaller model or context",
         capacity, available_memory_bytes());
  }
  return static_cast<std::byte*>(data);
}

std::unique_ptr<Buffer> MemoryPool::allocate(size_t bytes, Lifetime lifetime) {
  const size_t smallest = size_t{1} << kSmallestClass;
  size_t capacity = bytes < smallest ? smallest : bytes;
  size_t size_class = kUnpooled;
  if (lifetime == Lifetime::transient && capacity <= size_t{1} << kLargestClass) {
    size_class = static_cast<size_t>(std::bit_width(capacity - 1));
    capacity = size_t{1} << size_class;
  }
  std::byte* data = take(capacity, size_class);
  const size_t now = now_.fetch_add(bytes) + bytes;
  size_t peak = peak_.load();
  while (now > peak && !peak_.compare_exchange_weak(peak, now)) {}
  return std::make_unique<PooledBuffer>(shared_from_this(), data, bytes, capacity, size_class);
}

void MemoryPool::give_back(std::byte* data, size_t bytes, size_t capacity, size_t size_class) noexcept {
  now_.fetch_sub(bytes);
  if (size_class != kUnpooled) {
    const std::lock_guard lock(mutex_);
    free_[size_class].push_back(data);
    return;
  }
  unmap_pages(data, capacity);
}

}  // namespace wick::cpu
