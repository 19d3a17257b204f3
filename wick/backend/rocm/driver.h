// The ROCm driver of one device: that of all streams, and AMD's products of matrices.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "wick/backend/rocm/api.h"
#include "wick/device/streams/product_driver.h"

namespace wick::rocm {

class RocmDriver final : public ProductDriver {
 public:
  // On that stream, if one is given.
  RocmDriver(const std::shared_ptr<const Api>& api, std::shared_ptr<const RunTimeCompiler> compiler, const StreamDevice& device, int index,
             VendorProducts products = VendorProducts::none, StreamHandle stream = nullptr)
      : ProductDriver(api, std::move(compiler), ir::hip_dialect(), device, index, products, kMultipliesF8, stream) {}

 private:
  // CDNA 3 has another f8e4m3 than ours.
  static constexpr bool kMultipliesF8 = false;

  // hipBLASLt, which has the newest processors, before rocBLAS, which has all.
  [[nodiscard]] std::vector<std::unique_ptr<MatrixLibrary>> open_matrix_libraries() override;
};

}  // namespace wick::rocm
