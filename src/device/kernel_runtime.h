// A KernelRuntime is a device whose ops are portable kernels: a driver's memory behind a pool, its compiler behind a cache.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/caching_allocator.h"
#include "device/kernel_driver.h"
#include "device/runtime.h"

namespace wick {

class KernelRuntime final : public Runtime {
 public:
  explicit KernelRuntime(std::unique_ptr<KernelDriver> driver);

  [[nodiscard]] const DeviceCaps& caps() const noexcept override { return driver_->caps(); }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes, Lifetime lifetime) override { return allocator_->allocate(bytes, lifetime); }
  [[nodiscard]] std::unique_ptr<Buffer> import_host(std::byte* data, size_t bytes, std::shared_ptr<const void> owner) override;
  [[nodiscard]] Queue& queue() noexcept override { return driver_->queue(); }
  [[nodiscard]] OpFunction override_for(OpId /*op*/, DType /*dtype*/) const noexcept override { return nullptr; }
  [[nodiscard]] bool runs_kernels() const noexcept override { return true; }
  [[nodiscard]] std::shared_ptr<const Program> compile(const ir::Kernel& kernel) override;
  [[nodiscard]] size_t allocated_bytes() const noexcept override { return allocator_->statistics().allocated; }
  [[nodiscard]] size_t peak_allocated_bytes() const noexcept override { return allocator_->statistics().peak_allocated; }

  [[nodiscard]] KernelDriver& driver() noexcept { return *driver_; }

 private:
  // Declared before the allocator: blocks are given back to a driver that is still there.
  std::unique_ptr<KernelDriver> driver_;
  std::shared_ptr<CachingAllocator> allocator_;
};

}  // namespace wick
