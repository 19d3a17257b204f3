// The CUDA driver of one device, as KernelRuntime wants it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "wick/backend/cuda/compiler.h"
#include "wick/backend/cuda/device.h"
#include "wick/device/stream_driver.h"

namespace wick::cuda {

class CudaDriver final : public StreamDriver {
 public:
  CudaDriver(const std::shared_ptr<const Api>& api, std::shared_ptr<const Compiler> compiler, const FoundDevice& device, int index);

  [[nodiscard]] const ir::Dialect* dialect() const noexcept override { return &ir::cuda_dialect(); }
  [[nodiscard]] std::string binary_key() const override;
  [[nodiscard]] std::vector<std::byte> compile(const ir::Kernel& prepared, const std::string& text) override;

 private:
  std::shared_ptr<const Api> api_;
  std::shared_ptr<const Compiler> compiler_;
  std::string target_;
};

}  // namespace wick::cuda
