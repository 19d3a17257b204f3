// A CachingAllocator keeps freed blocks of a device's memory for the next buffers of their size: drivers take long to give and take memory.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "wick/device/kernel_driver.h"
#include "wick/device/runtime.h"

namespace wick {

// In bytes.
struct AllocatorStatistics {
  size_t allocated = 0;       // in buffers that are alive
  size_t peak_allocated = 0;  // of it at any time
  size_t reserved = 0;        // taken from the driver: allocated, or kept for later
  size_t driver_calls = 0;    // blocks ever asked of the driver
};

// A queue runs in order, so a block may be written again as soon as its buffer is gone: what is queued for it comes first.
class CachingAllocator : public std::enable_shared_from_this<CachingAllocator> {
 public:
  // The memory of a recording. Its later buffers reuse the blocks that earlier ones released, and nobody else does until the arena is
  // gone: replays write to it again, in the same order.
  class Arena;

  explicit CachingAllocator(std::shared_ptr<KernelDriver> driver) : driver_(std::move(driver)) {}

  [[nodiscard]] std::shared_ptr<Arena> make_arena();
  // From the arena, if there is one. Errors: out_of_memory, with the bytes requested, in use and in total, after every kept block was
  // given back.
  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes, Lifetime lifetime, const std::shared_ptr<Arena>& arena = nullptr);
  // A buffer over a block that no pool keeps: it goes with its last handle.
  [[nodiscard]] static std::unique_ptr<Buffer> adopt(std::unique_ptr<Buffer> block, size_t bytes);
  // Another handle on the bytes of a buffer of this allocator, which stay allocated until both are gone; those of `arena` until that is.
  [[nodiscard]] std::shared_ptr<Buffer> share(Buffer& buffer, const std::shared_ptr<Arena>& arena = nullptr);
  // Gives the blocks that no buffer uses back to the driver.
  void release_kept();
  [[nodiscard]] AllocatorStatistics statistics() const;

 private:
  friend struct PooledBlock;
  void take_back(std::unique_ptr<Buffer> block, size_t bytes, Lifetime lifetime, Arena* arena);
  [[nodiscard]] std::unique_ptr<Buffer> take(size_t wanted, size_t bytes);  // the mutex is held
  void give_back_kept();                                                    // the mutex is held

  std::shared_ptr<KernelDriver> driver_;
  mutable std::mutex mutex_;
  std::multimap<size_t, std::unique_ptr<Buffer>> kept_;
  AllocatorStatistics statistics_;
};

}  // namespace wick
