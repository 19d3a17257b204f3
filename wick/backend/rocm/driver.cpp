#include "wick/backend/rocm/driver.h"

#include <fmt/format.h>

#include "wick/backend/rocm/rocblas.h"
#include "wick/device/streams/planned_products.h"

namespace wick::rocm {
namespace {

// The library's numbers, as its header (hipblaslt.h of ROCm 6) fixes them. Not tried on hardware yet.
constexpr PlannedProductsNames kHipBlasLt{.prefix = "hipblasLt",
                                          .names_statuses = false,
                                          .types = {0, 2, 14, 28},
                                          .sums_f32 = 2,
                                          .sums_tf32 = 6,
                                          .plain = 111,
                                          .transposed = 112,
                                          .transpose_a = 0,
                                          .transpose_b = 1,
                                          .batch_count = 0,
                                          .batch_stride = 1,
                                          .workspace_bytes = 1,
                                          .alignment_of_a = -1,
                                          .algorithm_bytes = 24};

std::shared_ptr<const DynamicLibrary> open_library(std::string_view name, int newest_major) {
  constexpr int kOldestMajor = 0;
  return open_first(libraries_of(name, newest_major, kOldestMajor), "AMD's library of matrix products",
                    fmt::format("install ROCm's package {}", name));
}

}  // namespace

std::vector<std::unique_ptr<MatrixLibrary>> RocmDriver::open_matrix_libraries() {
  constexpr int kNewestHipBlasLt = 1, kNewestRocBlas = 5;
  std::vector<std::unique_ptr<MatrixLibrary>> libraries;
  const StreamContext& context = queue().context();
  add_library(libraries,
              [&] { return std::make_unique<PlannedProducts>(open_library("hipblaslt", kNewestHipBlasLt), kHipBlasLt, context); });
  add_library(libraries, [&] { return std::make_unique<RocBlas>(open_library("rocblas", kNewestRocBlas), context); });
  return libraries;
}

}  // namespace wick::rocm
