// The CUDA driver of one device: that of all streams, and NVIDIA's products of matrices.
#pragma once

#include <memory>
#include <mutex>

#include "wick/backend/cuda/api.h"
#include "wick/backend/cuda/cublaslt.h"
#include "wick/backend/cuda/overrides.h"
#include "wick/device/stream_driver.h"

namespace wick::cuda {

class CudaDriver final : public StreamDriver {
 public:
  // On that stream, if one is given. `uses_libraries`: NVIDIA's own products of matrices, where they are installed.
  CudaDriver(const std::shared_ptr<const Api>& api, std::shared_ptr<const RunTimeCompiler> compiler, const StreamDevice& device, int index,
             bool uses_libraries = false, StreamHandle stream = nullptr)
      : StreamDriver(api, std::move(compiler), ir::cuda_dialect(), device, index, stream),
        driver_version_(api->version),
        uses_libraries_(uses_libraries) {}

  [[nodiscard]] OpFunction override_for(OpId op, int /*kind*/, DType dtype) const noexcept override {
    return uses_libraries_ ? override_of(op, dtype) : nullptr;
  }
  // Opened by the first call; nullptr where it is not installed.
  [[nodiscard]] CublasLt* matrix_library();

 private:
  int driver_version_;
  bool uses_libraries_;
  std::once_flag library_opened_;
  std::unique_ptr<CublasLt> library_;
};

}  // namespace wick::cuda
