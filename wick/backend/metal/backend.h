// The Metal driver of one device, as KernelRuntime wants it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "wick/backend/metal/queue.h"
#include "wick/device/registry.h"
#include "wick/device/submissions/text_driver.h"

namespace wick::metal {

class Driver final : public TextDriver<Device, Queue, Pipeline> {
 public:
  using TextDriver::TextDriver;

  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes) override { return allocate_block(queue_, bytes); }
  [[nodiscard]] std::unique_ptr<Buffer> import_host(std::byte* data, size_t bytes, std::shared_ptr<const void> owner) override {
    return import_block(queue_, data, bytes, std::move(owner));
  }
  [[nodiscard]] std::optional<size_t> free_bytes() noexcept override;
  [[nodiscard]] const ir::Dialect* dialect() const noexcept override { return &ir::msl_dialect(); }
  // Metal's archives of binaries are found by the function of a library, so by the text compiled again; what the system has compiled it
  // keeps itself.
  [[nodiscard]] std::string binary_key() const override { return device_->caps().driver; }

 private:
  [[nodiscard]] CompiledText<Pipeline> compile_text(const ir::Kernel& prepared, const std::string& text) override {
    return compile_pipeline(*device_, prepared, text);
  }
  [[nodiscard]] std::shared_ptr<const wick::Program> make_program(ir::Kernel prepared, Pipeline pipeline) override {
    return std::make_shared<const Program>(std::move(prepared), std::move(pipeline));
  }
};

extern const Backend kBackend;

}  // namespace wick::metal
