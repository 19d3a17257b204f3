// A ValidatingQueue checks what another queue is given, and what kernels leave behind in memory: slow, for whoever looks for a fault.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

#include "wick/device/kernel_driver.h"
#include "wick/device/queue.h"

namespace wick {

class GuardedBuffer;

// Bounds: ranges lie in their buffers, and kernels' views begin where they may. Lifetimes: buffers are alive, and of this device. Hazards:
// no two arguments of a launch overlap, unless both are only read. Canaries: bytes before and behind each buffer stay as they are; they are
// looked at after each launch that writes the buffer, and when it is freed (a fault is then thrown by the next call). What follows a buffer
// up to a multiple of 16 bytes is its own.
// Errors: invalid_argument, naming the kernel or call, the argument and the fault.
class ValidatingQueue final : public Queue, public std::enable_shared_from_this<ValidatingQueue> {
 public:
  explicit ValidatingQueue(std::shared_ptr<KernelDriver> driver);

  // How large a buffer is that has room for one of `bytes` between canaries.
  [[nodiscard]] size_t guarded_bytes(size_t bytes) const noexcept;
  // The part of such a buffer between its canaries, filled with bytes of 0xff, which are NaNs and no index: reading them shows.
  [[nodiscard]] std::unique_ptr<Buffer> guard(std::unique_ptr<Buffer> whole, size_t bytes);
  // Another handle on such a part, which stays until both are gone.
  [[nodiscard]] std::shared_ptr<Buffer> share(Buffer& buffer);

  // Checks the arguments as launch() does. Reads nothing of a buffer that no longer lives.
  void check(const Launch& launch);

  void upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) override;
  void download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) override;
  void copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) override;
  void fill(Buffer& target, size_t offset, size_t bytes, std::byte value) override;
  void launch(const Launch& launch) override;
  void flush() override { driver_->queue().flush(); }
  void synchronize() override;
  [[nodiscard]] std::unique_ptr<Event> record() override { return driver_->queue().record(); }

 private:
  friend class GuardedBuffer;
  [[nodiscard]] std::unique_ptr<Buffer> handle(std::shared_ptr<Buffer> whole, size_t bytes);
  void throw_kept();
  void check_alive(const Buffer* buffer, const std::string& where);
  void check_range(const Buffer& buffer, size_t offset, size_t bytes, const std::string& where);
  // Throws if a canary has changed, and sets it again.
  void check_canaries(Buffer& whole, size_t bytes, const std::string& where);
  void set_canaries(Buffer& whole, size_t bytes);
  void release(GuardedBuffer& buffer) noexcept;

  std::shared_ptr<KernelDriver> driver_;
  size_t guard_;  // bytes of a canary
  std::mutex mutex_;
  std::unordered_set<const Buffer*> alive_;
  std::string kept_;  // a fault that nobody has been told of
};

}  // namespace wick
