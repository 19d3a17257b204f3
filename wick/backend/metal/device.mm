#include "wick/backend/metal/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "wick/backend/metal/metal.h"

namespace wick::metal {
namespace {

// Of the table of buffers that every GPU has: one is the launch's parameters.
constexpr uint32_t kBufferArguments = 31;
// setBytes takes so many at most.
constexpr uint32_t kParameterBytes = 4096;
// Metal does not tell. The smallest M1 has as many; others have more, for which launches are large enough.
constexpr int kCores = 8;

std::string unsuitable(id<MTLDevice> device) {
  if (![device hasUnifiedMemory]) return "has memory of its own, and this backend runs on GPUs that share the processor's";
  if (![device supportsFamily:MTLGPUFamilyMetal3]) return "has no Metal 3, which needs macOS 13";
  return {};
}

DeviceCaps describe(id<MTLDevice> device) {
  DeviceCaps caps;
  caps.name = text_of([device name]);
  caps.driver = fmt::format("Metal 3, {}", text_of([[NSProcessInfo processInfo] operatingSystemVersionString]));
  caps.memory_bytes = [device recommendedMaxWorkingSetSize];
  caps.compute_units = kCores;
  caps.max_shared_bytes = [device maxThreadgroupMemoryLength];
  caps.max_buffer_bytes = [device maxBufferLength];
  caps.buffer_offset_alignment = 16;  // of a vector of four words: Metal itself wants an element's
  caps.max_group_size = static_cast<uint32_t>([device maxThreadsPerThreadgroup].width);
  caps.max_storage_buffers = kBufferArguments - 1;
  caps.max_parameter_bytes = kParameterBytes;
  // A lane's place in the grid is a number of 32 bits.
  caps.max_group_count = {0xffffffffU / caps.max_group_size, 65535, 65535};
  caps.f16_arithmetic = true;
  caps.storage_8bit = caps.storage_16bit = true;
  caps.int64 = true;
  caps.f32_atomic_add = true;   // of Metal 3
  caps.f32_subnormals = false;  // the language lets implementations flush them
  if ([device supportsFamily:MTLGPUFamilyApple7]) {
    caps.min_subgroup_size = caps.max_subgroup_size = 32;
    caps.tiles = {{8, 8, 8}};
  }
  return caps;
}

}  // namespace

Installation find_gpus() {
  Installation result;
  @autoreleasepool {
    const Owned<NSArray*> all(MTLCopyAllDevices());
    for (NSUInteger i = 0; i < [all.get() count]; ++i) {
      id<MTLDevice> const device = [all.get() objectAtIndex:i];
      const std::string reason = unsuitable(device);
      if (reason.empty()) {
        const Hardware hardware = [device isRemovable] ? Hardware::discrete_gpu : Hardware::integrated_gpu;
        result.gpus.push_back({Owned<id<MTLDevice>>::retained(device), describe(device), hardware});
        continue;
      }
      result.missing += fmt::format("{}{} {}", result.missing.empty() ? "" : "; ", text_of([device name]), reason);
    }
    if ([all.get() count] == 0) result.missing = "Metal finds no GPU; in a virtual machine, give it one";
  }
  return result;
}

Device::Device(Gpu gpu, std::string place)
    : gpu_(std::move(gpu)),
      place_(std::move(place)),
      queue_([gpu_.handle.get() newCommandQueue]),
      residency_(gpu_.handle.get(), queue_.get()) {
  if (!queue_) throw MetalError(ErrorCode::no_device, fmt::format("{}: newCommandQueue gives none", place_), {"newCommandQueue", 0, "nil"});
}

}  // namespace wick::metal
