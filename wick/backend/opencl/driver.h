// The OpenCL driver of one device, as KernelRuntime wants it.
#pragma once

#include <memory>
#include <string>

#include "wick/backend/opencl/api.h"
#include "wick/backend/opencl/device.h"
#include "wick/backend/opencl/program.h"
#include "wick/backend/opencl/queue.h"
#include "wick/device/kernel_driver.h"

namespace wick::opencl {

class OpenClDriver final : public KernelDriver {
 public:
  OpenClDriver(std::shared_ptr<const Api> api, FoundDevice device, int index);

  [[nodiscard]] const DeviceCaps& caps() const noexcept override { return device_.caps; }
  [[nodiscard]] Queue& queue() noexcept override { return *queue_; }
  // Errors: unsupported for more bytes than the device takes in one block.
  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes) override;
  [[nodiscard]] const ir::Dialect* dialect() const noexcept override { return device_.dialect; }
  [[nodiscard]] std::string binary_key() const override;
  [[nodiscard]] std::vector<std::byte> compile(const ir::Kernel& prepared, const std::string& text) override;
  [[nodiscard]] std::shared_ptr<const Program> load(ir::Kernel prepared, std::span<const std::byte> binary) override;
  [[nodiscard]] bool is_lost() const noexcept override { return queue_->is_lost(); }

  [[nodiscard]] cl_device_id device() const noexcept { return device_.id; }
  [[nodiscard]] cl_context context() const noexcept { return context_.get(); }
  [[nodiscard]] cl_command_queue command_queue() const noexcept { return queue_->handle(); }

 private:
  [[nodiscard]] Compiler compiler() const { return {*api_, context_.get(), device_, place_}; }

  std::shared_ptr<const Api> api_;
  FoundDevice device_;
  std::string place_;
  Owned<cl_context> context_;
  std::unique_ptr<OpenClQueue> queue_;
};

}  // namespace wick::opencl
