// A Recording is what a queue was given and has not handed over yet: one command buffer, and the parameters of its launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wick/backend/webgpu/device.h"
#include "wick/ir/kernel.h"

namespace wick::webgpu {

class Recording {
 public:
  explicit Recording(const Device& device) : device_(device) {}

  [[nodiscard]] bool is_empty() const noexcept { return encoder_ == nullptr; }
  [[nodiscard]] size_t launches() const noexcept { return launches_; }
  // All launches so far, each parameter_stride() bytes.
  [[nodiscard]] std::span<const std::byte> parameters() const noexcept { return parameters_; }

  // The encoder, between compute passes: for copies.
  [[nodiscard]] CommandEncoder encoder();
  struct Step {
    ComputePipeline pipeline = nullptr;
    BindGroup group = nullptr;
    std::span<const uint32_t> parameters;
    ir::Grid grid;
  };
  void dispatch(const Step& step);
  // The command buffer; the recording is empty afterwards.
  [[nodiscard]] Owned<CommandBuffer> finish();

 private:
  void end_pass();
  void open();

  const Device& device_;
  Owned<CommandEncoder> encoder_{nullptr, {}};
  Owned<ComputePass> pass_{nullptr, {}};
  ComputePipeline bound_ = nullptr;  // in the pass
  size_t launches_ = 0;
  std::vector<std::byte> parameters_;
};

}  // namespace wick::webgpu
