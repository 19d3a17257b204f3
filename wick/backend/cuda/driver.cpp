#include "wick/backend/cuda/driver.h"

#include "wick/base/log.h"

namespace wick::cuda {

CublasLt* CudaDriver::matrix_library() {
  std::call_once(library_opened_, [&] {
    try {
      library_ = std::make_unique<CublasLt>(queue().context(), driver_version_);
    } catch (const Error& error) {
      log_info("{}: products of matrices run by portable kernels: {}", queue().context().place, error.what());
    }
  });
  return library_.get();
}

}  // namespace wick::cuda
