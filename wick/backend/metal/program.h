// A Program is a kernel that Metal has compiled.
#pragma once

#include <string>
#include <utility>

#include "wick/backend/metal/device.h"
#include "wick/device/program.h"
#include "wick/device/submissions/text_driver.h"

namespace wick::metal {

using Pipeline = Owned<id<MTLComputePipelineState>>;

// Nothing here catches an exception of C++, for which some run-time libraries of Objective-C have no handlers.
// Errors: unsupported for groups larger, or simdgroups of another size, than it runs this kernel in.
[[nodiscard]] CompiledText<Pipeline> compile_pipeline(const Device& device, const ir::Kernel& kernel, const std::string& text);

class Program final : public wick::Program {
 public:
  Program(ir::Kernel kernel, Pipeline pipeline) : wick::Program(std::move(kernel)), pipeline_(std::move(pipeline)) {}
  [[nodiscard]] id<MTLComputePipelineState> pipeline() const noexcept { return pipeline_.get(); }

 private:
  Pipeline pipeline_;
};

}  // namespace wick::metal
