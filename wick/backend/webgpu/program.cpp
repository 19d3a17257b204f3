#include "wick/backend/webgpu/program.h"

#include <utility>

#include "wick/base/fail.h"
#include "wick/device/kernel_driver.h"
#include "wick/ir/dialect/dialect.h"

namespace wick::webgpu {
namespace {

uint64_t read_only_buffers(const ir::Kernel& kernel) {
  uint64_t read_only = 0;
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    if (kernel.buffers[i].access == ir::Access::read) read_only |= uint64_t{1} << i;
  }
  return read_only;
}

void throw_if_refused(const Fault& fault) {
  if (fault.type != ErrorType::none) throw CompilerError{fault.message};
}

}  // namespace

// No bounds are checked at run time: launches are checked before they are queued, and kernels stay inside of what they are given.
Pipeline compile_pipeline(Device& device, const ir::Kernel& kernel, const std::string& text) {
  const Api& api = device.api();
  WgslSource source;
  source.code = std::string_view(text);
  const LabelDescriptor descriptor{.next = &source.chain, .label = std::string_view(kernel.name)};
  Owned<ShaderModule> module(nullptr, {api.shader_module_release});
  throw_if_refused(
      device.caught({ErrorFilter::validation}, [&] { module.reset(api.device_create_trusted_module(device.handle(), &descriptor, 0)); }));
  Pipeline made{{nullptr, {api.compute_pipeline_release}},
                device.layouts(kernel.buffers.size(), read_only_buffers(kernel), !kernel.parameters.empty())};
  const std::string entry = ir::entry_name(kernel);
  ComputePipelineDescriptor pipeline;
  pipeline.label = std::string_view(kernel.name);
  pipeline.layout = made.layouts.pipeline;
  pipeline.compute.module = module.get();
  pipeline.compute.entry_point = std::string_view(entry);
  throw_if_refused(device.caught({ErrorFilter::out_of_memory, ErrorFilter::validation},
                                 [&] { made.handle.reset(api.device_create_compute_pipeline(device.handle(), &pipeline)); }));
  return made;
}

Program::Program(std::shared_ptr<Device> device, ir::Kernel kernel, Pipeline pipeline)
    : wick::Program(std::move(kernel)), device_(std::move(device)), read_only_(read_only_buffers(this->kernel())) {
  pipelines_.emplace(read_only_, std::move(pipeline));
}

const Pipeline& Program::pipeline(uint64_t read_only) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = pipelines_.find(read_only); found != pipelines_.end()) return found->second;
  ir::Kernel variant = kernel();
  for (size_t i = 0; i < variant.buffers.size(); ++i) {
    if ((read_only >> i & 1) == 0) variant.buffers[i].access = ir::Access::read_write;
  }
  try {
    return pipelines_.emplace(read_only, compile_pipeline(*device_, variant, ir::print(variant, ir::wgsl_dialect()))).first->second;
  } catch (const CompilerError& error) {
    fail(ErrorCode::unsupported, "kernel {}: the WGSL compiler of {} refused it with a buffer that is both read and written: {}",
         variant.name, device_->place(), error.log);
  }
}

}  // namespace wick::webgpu
