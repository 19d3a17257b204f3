// The Level Zero driver of one device, as KernelRuntime wants it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "wick/backend/oneapi/program.h"
#include "wick/backend/oneapi/queue.h"
#include "wick/device/kernel_driver.h"
#include "wick/device/registry.h"

namespace wick::oneapi {

class ZeDriver final : public KernelDriver {
 public:
  ZeDriver(std::shared_ptr<const Api> api, std::shared_ptr<const Compiler> compiler, const FoundDevice& device, std::string place);

  [[nodiscard]] const DeviceCaps& caps() const noexcept override { return queue_->device().caps; }
  [[nodiscard]] ZeQueue& queue() noexcept override { return *queue_; }
  // Errors: unsupported for more bytes than the device takes in one block.
  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes) override;
  [[nodiscard]] bool is_lost() const noexcept override { return queue_->is_lost(); }
  [[nodiscard]] const ir::Dialect* dialect() const noexcept override { return &ir::opencl_intel_dialect(); }
  [[nodiscard]] std::string binary_key() const override;
  [[nodiscard]] bool takes(SourceLanguage language) const noexcept override {
    return language == SourceLanguage::opencl_c || language == SourceLanguage::spirv;
  }
  // OpenCL C becomes SPIR-V, and that the device's own code, which is what is kept: a run that finds all of it never calls the compiler.
  [[nodiscard]] std::vector<std::byte> compile(const ir::Kernel& prepared, const std::string& text) override;
  [[nodiscard]] std::shared_ptr<const Program> load(ir::Kernel prepared, std::span<const std::byte> binary) override;

 private:
  std::shared_ptr<const Compiler> compiler_;
  std::shared_ptr<ZeQueue> queue_;
};

extern const Backend kBackend;

}  // namespace wick::oneapi
