#include "wick/backend/metal/program.h"

#include "wick/base/fail.h"
#include "wick/ir/dialect/dialect.h"

namespace wick::metal {
namespace {

NSString* to_string(const std::string& text) { return [NSString stringWithUTF8String:text.c_str()]; }

std::string refusal(NSError* error, const char* call) {
  const std::string words = text_of([error localizedDescription]);
  return words.empty() ? fmt::format("{} gives no reason", call) : words;
}

Owned<id<MTLLibrary>> compile_library(const Device& device, const ir::Kernel& kernel, const std::string& text, NSError** error) {
  const Owned<MTLCompileOptions*> options([[MTLCompileOptions alloc] init]);
  [options.get() setLanguageVersion:MTLLanguageVersion3_0];
  // The text's own pragma says so too, to compilers that know it.
  [options.get() setFastMathEnabled:kernel.math != ir::MathMode::precise];
  return Owned<id<MTLLibrary>>([device.handle() newLibraryWithSource:to_string(text) options:options.get() error:error]);
}

Pipeline make_pipeline(const Device& device, const ir::Kernel& kernel, id<MTLFunction> function, NSError** error) {
  const Owned<MTLComputePipelineDescriptor*> descriptor([[MTLComputePipelineDescriptor alloc] init]);
  [descriptor.get() setLabel:to_string(kernel.name)];
  [descriptor.get() setComputeFunction:function];
  // So that registers are shared out for as many lanes.
  [descriptor.get() setMaxTotalThreadsPerThreadgroup:kernel.group_size];
  return Pipeline([device.handle() newComputePipelineStateWithDescriptor:descriptor.get()
                                                                 options:MTLPipelineOptionNone
                                                              reflection:nullptr
                                                                   error:error]);
}

void check_lanes(const Device& device, const ir::Kernel& kernel, id<MTLComputePipelineState> pipeline) {
  const NSUInteger most = [pipeline maxTotalThreadsPerThreadgroup], width = [pipeline threadExecutionWidth];
  if (kernel.group_size > most) {
    fail(ErrorCode::unsupported, "kernel {}: has groups of {} lanes, and {} runs it in groups of {} at most", kernel.name,
         kernel.group_size, device.place(), most);
  }
  if (kernel.subgroup_size > 1 && static_cast<NSUInteger>(kernel.subgroup_size) != width) {
    fail(ErrorCode::unsupported, "kernel {}: is written for simdgroups of {} lanes, and {} runs it in those of {}", kernel.name,
         kernel.subgroup_size, device.place(), width);
  }
}

}  // namespace

CompiledText<Pipeline> compile_pipeline(const Device& device, const ir::Kernel& kernel, const std::string& text) {
  CompiledText<Pipeline> result;
  @autoreleasepool {
    NSError* error = nil;
    const Owned<id<MTLLibrary>> library = compile_library(device, kernel, text, &error);
    if (!library) {
      result.refusal = refusal(error, "newLibraryWithSource");
      return result;
    }
    const std::string entry = ir::entry_name(kernel);
    const Owned<id<MTLFunction>> function([library.get() newFunctionWithName:to_string(entry)]);
    if (!function) {
      result.refusal = fmt::format("it has no kernel {}", entry);
      return result;
    }
    error = nil;  // of the library these were warnings
    Pipeline pipeline = make_pipeline(device, kernel, function.get(), &error);
    if (!pipeline) {
      result.refusal = refusal(error, "newComputePipelineState");
      return result;
    }
    check_lanes(device, kernel, pipeline.get());
    result.pipeline = std::move(pipeline);
  }
  return result;
}

}  // namespace wick::metal
