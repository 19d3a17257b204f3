// The WebGPU driver of one device, as KernelRuntime wants it.
#pragma once

#include <memory>
#include <string>

#include "wick/backend/webgpu/queue.h"
#include "wick/device/kernel_driver.h"
#include "wick/device/last_compiled.h"
#include "wick/device/registry.h"

namespace wick::webgpu {

class Driver final : public KernelDriver {
 public:
  explicit Driver(std::shared_ptr<Device> device) : device_(std::move(device)), queue_(std::make_shared<Queue>(device_)) {}

  [[nodiscard]] const DeviceCaps& caps() const noexcept override { return device_->caps(); }
  [[nodiscard]] wick::Queue& queue() noexcept override { return *queue_; }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes) override { return allocate_block(queue_, bytes); }
  [[nodiscard]] const ir::Dialect* dialect() const noexcept override { return &ir::wgsl_dialect(); }
  // WebGPU has no binaries: what is kept is a text that its compiler took. What drivers make of it they keep themselves.
  [[nodiscard]] std::string binary_key() const override { return device_->api().version; }
  [[nodiscard]] std::vector<std::byte> compile(const ir::Kernel& prepared, const std::string& text) override;
  [[nodiscard]] std::shared_ptr<const wick::Program> load(ir::Kernel prepared, std::span<const std::byte> binary) override;
  [[nodiscard]] bool is_lost() const noexcept override { return queue_->is_lost(); }

  [[nodiscard]] Device& device() const noexcept { return *device_; }

 private:
  std::shared_ptr<Device> device_;
  std::shared_ptr<Queue> queue_;
  LastCompiled<Pipeline> compiled_;
};

extern const Backend kBackend;

}  // namespace wick::webgpu
