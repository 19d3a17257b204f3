#include "wick/backend/webgpu/program.h"

#include <utility>

#include "wick/base/fail.h"
#include "wick/ir/dialect/dialect.h"
#include "wick/ir/passes.h"

namespace wick::webgpu {
namespace {

uint64_t read_only_buffers(const ir::Kernel& kernel) {
  uint64_t read_only = 0;
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    if (kernel.buffers[i].access == ir::Access::read) read_only |= uint64_t{1} << i;
  }
  return read_only;
}

// A text that nobody but this backend sees.
Pipeline print_and_compile(Device& device, const ir::Kernel& kernel) {
  CompiledText<Pipeline> made = compile_pipeline(device, kernel, ir::print(kernel, ir::wgsl_dialect()));
  if (made.pipeline) return std::move(*made.pipeline);
  fail(ErrorCode::unsupported, "kernel {}: the WGSL compiler of {} refused it: {}", kernel.name, device.place(), made.refusal);
}

}  // namespace

// No bounds are checked at run time: launches are checked before they are queued, and kernels stay inside of what they are given.
CompiledText<Pipeline> compile_pipeline(Device& device, const ir::Kernel& kernel, const std::string& text) {
  const Api& api = device.api();
  // The compiler of wgpu-native 29 has subgroups, but refuses the name of the extension (issue 5555 of gfx-rs/wgpu).
  constexpr std::string_view kExtension = "enable subgroups;\n";
  std::string accepted = text;
  if (const size_t at = text.find(kExtension); at != std::string::npos) accepted.erase(at, kExtension.size());
  WgslSource source;
  source.code = std::string_view(accepted);
  const LabelDescriptor descriptor{.next = &source.chain, .label = std::string_view(kernel.name)};
  Owned<ShaderModule> module(nullptr, {api.shader_module_release});
  Fault fault = device.caught({ErrorFilter::validation}, [&] { module.reset(api.create_trusted_module(device.handle(), &descriptor, 0)); });
  if (fault.type != ErrorType::none) return {std::nullopt, std::move(fault.message)};
  Pipeline made{{nullptr, {api.compute_pipeline_release}},
                device.layouts(kernel.buffers.size(), read_only_buffers(kernel), !kernel.parameters.empty())};
  const std::string entry = ir::entry_name(kernel);
  const ComputePipelineDescriptor pipeline{.label = std::string_view(kernel.name),
                                           .layout = made.layouts.pipeline,
                                           .compute = {.module = module.get(), .entry_point = std::string_view(entry)}};
  fault = device.caught({ErrorFilter::out_of_memory, ErrorFilter::validation},
                        [&] { made.handle.reset(api.create_compute_pipeline(device.handle(), &pipeline)); });
  if (fault.type != ErrorType::none) return {std::nullopt, std::move(fault.message)};
  return {std::move(made), {}};
}

std::shared_ptr<const Program> compile_own(const std::shared_ptr<Device>& device, const ir::Kernel& kernel) {
  ir::Kernel prepared = ir::prepare(kernel, device->caps());
  Pipeline pipeline = print_and_compile(*device, prepared);
  return std::make_shared<const Program>(device, std::move(prepared), std::move(pipeline));
}

Program::Program(std::shared_ptr<Device> device, ir::Kernel kernel, Pipeline pipeline)
    : wick::Program(std::move(kernel)), device_(std::move(device)), read_only_(read_only_buffers(this->kernel())) {
  pipelines_.emplace(read_only_, std::move(pipeline));
}

const Pipeline& Program::pipeline(uint64_t read_only) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = pipelines_.find(read_only); found != pipelines_.end()) return found->second;
  ir::Kernel variant = kernel();
  if (!variant.entry.empty()) {
    fail(ErrorCode::unsupported, "kernel {}: WebGPU lets no launch read one buffer by one binding and write it by another", variant.name);
  }
  for (size_t i = 0; i < variant.buffers.size(); ++i) {
    if ((read_only >> i & 1) == 0) variant.buffers[i].access = ir::Access::read_write;
  }
  return pipelines_.emplace(read_only, print_and_compile(*device_, variant)).first->second;
}

}  // namespace wick::webgpu
