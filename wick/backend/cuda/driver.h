// The CUDA driver of one device: that of all streams, and NVIDIA's products of matrices.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "wick/backend/cuda/api.h"
#include "wick/backend/cuda/device.h"
#include "wick/device/streams/product_driver.h"

namespace wick::cuda {

class CudaDriver final : public ProductDriver {
 public:
  // On that stream, if one is given.
  CudaDriver(const std::shared_ptr<const Api>& api, std::shared_ptr<const RunTimeCompiler> compiler, const StreamDevice& device, int index,
             VendorProducts products = VendorProducts::none, StreamHandle stream = nullptr)
      : ProductDriver(api, std::move(compiler), ir::cuda_dialect(), device, index, products, architecture_of(device.target) >= kFirstWithF8,
                      stream),
        driver_version_(api->version) {}

 private:
  static constexpr int kFirstWithF8 = 89;  // compute capability

  [[nodiscard]] std::vector<std::unique_ptr<MatrixLibrary>> open_matrix_libraries() override;

  int driver_version_;
};

}  // namespace wick::cuda
