#include "wick/backend/cuda/driver.h"

#include "wick/backend/cuda/compiler.h"
#include "wick/device/streams/planned_products.h"

namespace wick::cuda {
namespace {

// The library's numbers, as its interface fixes them.
constexpr PlannedProductsNames kCublasLt{.prefix = "cublasLt",
                                         .names_statuses = true,
                                         .types = {0, 2, 14, 28},
                                         .sums_f32 = 68,
                                         .sums_tf32 = 77,
                                         .plain = 0,
                                         .transposed = 1,
                                         .transpose_a = 3,
                                         .transpose_b = 4,
                                         .batch_count = 5,
                                         .batch_stride = 6,
                                         .workspace_bytes = 1,
                                         .alignment_of_a = 5,
                                         .algorithm_bytes = 64};

}  // namespace

std::vector<std::unique_ptr<MatrixLibrary>> CudaDriver::open_matrix_libraries() {
  std::vector<std::unique_ptr<MatrixLibrary>> libraries;
  add_library(libraries, [&] {
    return std::make_unique<PlannedProducts>(
        open_first(libraries_of("cublasLt", driver_version_), "NVIDIA's library of matrix products", remedy_for("libcublas")), kCublasLt,
        queue().context());
  });
  return libraries;
}

}  // namespace wick::cuda
