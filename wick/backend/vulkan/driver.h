// The Vulkan driver of one device, as KernelRuntime wants it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wick/backend/vulkan/program.h"
#include "wick/backend/vulkan/queue.h"
#include "wick/device/submissions/glsl_compiler.h"
#include "wick/device/submissions/spirv_module.h"
#include "wick/device/submissions/submission_driver.h"

namespace wick::vulkan {

class Driver final : public SubmissionDriver<Device, Queue> {
 public:
  using SubmissionDriver::SubmissionDriver;

  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes) override { return allocate_block(queue_, slabs_, bytes); }
  [[nodiscard]] const ir::Dialect* dialect() const noexcept override { return &ir::glsl_dialect(); }
  // SPIR-V is the same for all devices; what drivers make of it they keep themselves.
  [[nodiscard]] std::string binary_key() const override { return glsl_compiler_version() + (caps().f32_subnormals ? ", subnormals" : ""); }
  [[nodiscard]] bool takes(SourceLanguage language) const noexcept override {
    return language == SourceLanguage::glsl || language == SourceLanguage::spirv;
  }
  [[nodiscard]] std::vector<std::byte> compile(const ir::Kernel& /*prepared*/, const std::string& text) override {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
    return is_spirv(text) ? std::vector(bytes.begin(), bytes.end()) : compile_glsl(text, caps().f32_subnormals);
  }
  [[nodiscard]] std::shared_ptr<const wick::Program> load(ir::Kernel prepared, std::span<const std::byte> binary) override {
    return Program::load(queue_, std::move(prepared), binary);
  }

 private:
  Slabs<Allocation> slabs_;
};

}  // namespace wick::vulkan
