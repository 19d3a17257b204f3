// The WebGPU driver of one device, as KernelRuntime wants it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "wick/backend/webgpu/queue.h"
#include "wick/device/registry.h"
#include "wick/device/submissions/text_driver.h"

namespace wick::webgpu {

class Driver final : public TextDriver<Device, Queue, Pipeline> {
 public:
  using TextDriver::TextDriver;

  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes) override { return allocate_block(queue_, bytes); }
  [[nodiscard]] const ir::Dialect* dialect() const noexcept override { return &ir::wgsl_dialect(); }
  // Identifies the driver's version; drivers keep compiled texts themselves.
  [[nodiscard]] std::string binary_key() const override { return device_->api().version; }

 private:
  [[nodiscard]] CompiledText<Pipeline> compile_text(const ir::Kernel& prepared, const std::string& text) override {
    return compile_pipeline(*device_, prepared, text);
  }
  [[nodiscard]] std::shared_ptr<const wick::Program> make_program(ir::Kernel prepared, Pipeline pipeline) override {
    return std::make_shared<const Program>(device_, std::move(prepared), std::move(pipeline));
  }
};

extern const Backend kBackend;

}  // namespace wick::webgpu
