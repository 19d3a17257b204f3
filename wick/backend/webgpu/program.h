// A Program is a kernel that wgpu-native has compiled.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "wick/backend/webgpu/device.h"
#include "wick/device/program.h"
#include "wick/device/submissions/text_driver.h"

namespace wick::webgpu {

struct Pipeline {
  Owned<ComputePipeline> handle;
  Device::Layouts layouts;
};

[[nodiscard]] CompiledText<Pipeline> compile_pipeline(Device& device, const ir::Kernel& kernel, const std::string& text);

class Program;
// A kernel of this backend's own. Errors: unsupported where wgpu-native refuses it.
[[nodiscard]] std::shared_ptr<const Program> compile_own(const std::shared_ptr<Device>& device, const ir::Kernel& kernel);

// WebGPU lets no dispatch bind one buffer both to read alone and to write, wherever in it: where a launch does, its program is one whose
// text lets it write to both, compiled by the first such launch.
class Program final : public wick::Program {
 public:
  Program(std::shared_ptr<Device> device, ir::Kernel kernel, Pipeline pipeline);

  // The buffers that its own text only reads: bit i for buffer i.
  [[nodiscard]] uint64_t read_only() const noexcept { return read_only_; }
  // With these buffers bound to be read alone. Errors: unsupported where wgpu-native refuses it, and for a text that is not ours.
  [[nodiscard]] const Pipeline& pipeline(uint64_t read_only) const;

 private:
  std::shared_ptr<Device> device_;
  uint64_t read_only_;
  mutable std::mutex mutex_;
  mutable std::map<uint64_t, Pipeline> pipelines_;
};

}  // namespace wick::webgpu
