// The Metal driver of one device, as KernelRuntime wants it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "wick/backend/metal/queue.h"
#include "wick/device/kernel_driver.h"
#include "wick/device/last_compiled.h"
#include "wick/device/registry.h"

namespace wick::metal {

class Driver final : public KernelDriver {
 public:
  explicit Driver(std::shared_ptr<Device> device) : device_(std::move(device)), queue_(std::make_shared<Queue>(device_)) {}

  [[nodiscard]] const DeviceCaps& caps() const noexcept override { return device_->caps(); }
  [[nodiscard]] wick::Queue& queue() noexcept override { return *queue_; }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes) override { return allocate_block(queue_, bytes); }
  [[nodiscard]] std::unique_ptr<Buffer> import_host(std::byte* data, size_t bytes, std::shared_ptr<const void> owner) override {
    return import_block(queue_, data, bytes, std::move(owner));
  }
  [[nodiscard]] std::optional<size_t> free_bytes() noexcept override;
  [[nodiscard]] const ir::Dialect* dialect() const noexcept override { return &ir::msl_dialect(); }
  // What is kept is a text that Metal took. Its archives of binaries are found by the function of a library, so by the text compiled again;
  // what the system has compiled it keeps itself.
  [[nodiscard]] std::string binary_key() const override { return device_->caps().driver; }
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

}  // namespace wick::metal
