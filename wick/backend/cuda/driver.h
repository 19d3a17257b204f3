// The CUDA driver of one device, as KernelRuntime wants it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "wick/backend/cuda/compiler.h"
#include "wick/backend/cuda/cublaslt.h"
#include "wick/backend/cuda/device.h"
#include "wick/backend/cuda/overrides.h"
#include "wick/device/stream_driver.h"

namespace wick::cuda {

class CudaDriver final : public StreamDriver {
 public:
  // On that stream, if one is given. `uses_libraries`: NVIDIA's own products of matrices, where they are installed.
  CudaDriver(const std::shared_ptr<const Api>& api, std::shared_ptr<const Compiler> compiler, const FoundDevice& device, int index,
             bool uses_libraries = false, StreamHandle stream = nullptr);

  [[nodiscard]] const ir::Dialect* dialect() const noexcept override { return &ir::cuda_dialect(); }
  [[nodiscard]] std::string binary_key() const override;
  [[nodiscard]] OpFunction override_for(OpId op, int /*kind*/, DType dtype) const noexcept override {
    return uses_libraries_ ? override_of(op, dtype) : nullptr;
  }
  [[nodiscard]] std::vector<std::byte> compile(const ir::Kernel& prepared, const std::string& text) override;
  [[nodiscard]] int device() const noexcept { return device_; }
  // Opened by the first call; nullptr where it is not installed.
  [[nodiscard]] CublasLt* matrix_library();

 private:
  std::shared_ptr<const Api> api_;
  std::shared_ptr<const Compiler> compiler_;
  int device_;
  std::string target_;
  bool uses_libraries_;
  std::once_flag library_opened_;
  std::unique_ptr<CublasLt> library_;
};

}  // namespace wick::cuda
