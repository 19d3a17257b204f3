// The CUDA driver of one device: that of all streams, and NVIDIA's products of matrices.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "wick/backend/cuda/api.h"
#include "wick/backend/cuda/cublaslt.h"
#include "wick/backend/cuda/device.h"
#include "wick/backend/cuda/overrides.h"
#include "wick/device/stream_driver.h"

namespace wick::cuda {

// NVIDIA's own products of matrices, where they are installed: none; all that give results as exact as the portable kernels'; with tf32
// also products of f32 in 11 bits.
enum class MatrixLibrary : uint8_t { none, exact, tf32 };

class CudaDriver final : public StreamDriver {
 public:
  // On that stream, if one is given.
  CudaDriver(const std::shared_ptr<const Api>& api, std::shared_ptr<const RunTimeCompiler> compiler, const StreamDevice& device, int index,
             MatrixLibrary products = MatrixLibrary::none, StreamHandle stream = nullptr)
      : StreamDriver(api, std::move(compiler), ir::cuda_dialect(), device, index, stream),
        driver_version_(api->version),
        products_(products),
        multiplies_f8_(architecture_of(device.target) >= kFirstWithF8) {}

  [[nodiscard]] OpFunction override_for(OpId op, int /*kind*/, DType dtype) const noexcept override {
    return products_ != MatrixLibrary::none ? override_of(op, dtype) : nullptr;
  }
  // Opened by the first call; nullptr where it is not installed.
  [[nodiscard]] CublasLt* matrix_library();
  [[nodiscard]] bool multiplies_in_tf32() const noexcept { return products_ == MatrixLibrary::tf32; }
  [[nodiscard]] bool multiplies_f8() const noexcept { return multiplies_f8_; }

 private:
  static constexpr int kFirstWithF8 = 89;  // compute capability

  int driver_version_;
  MatrixLibrary products_;
  bool multiplies_f8_;
  std::once_flag library_opened_;
  std::unique_ptr<CublasLt> library_;
};

}  // namespace wick::cuda
