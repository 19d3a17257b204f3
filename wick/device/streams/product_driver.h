// A ProductDriver is a StreamDriver that gives large products of matrices to its vendor's libraries, where they are installed.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "wick/base/error.h"
#include "wick/base/log.h"
#include "wick/device/streams/matrix_library.h"
#include "wick/device/streams/product_overrides.h"
#include "wick/device/streams/stream_driver.h"

namespace wick {

// The vendor's own products: none; all that give results as exact as the portable kernels'; with tf32 also products of f32 in 11 bits.
enum class VendorProducts : uint8_t { none, exact, tf32 };

class ProductDriver : public StreamDriver {
 public:
  // On that stream, if one is given. `multiplies_f8`: whether the processor does.
  ProductDriver(const std::shared_ptr<const StreamApi>& api, std::shared_ptr<const RunTimeCompiler> compiler, const ir::Dialect& dialect,
                const StreamDevice& device, int index, VendorProducts products, bool multiplies_f8, StreamHandle stream)
      : StreamDriver(api, std::move(compiler), dialect, device, index, stream), products_(products), multiplies_f8_(multiplies_f8) {}

  [[nodiscard]] OpFunction override_for(OpId op, int /*kind*/, DType dtype) const noexcept override {
    return products_ != VendorProducts::none ? product_override_of(op, dtype) : nullptr;
  }
  // Those that are installed, the first to be asked first; opened by the first call.
  [[nodiscard]] const std::vector<std::unique_ptr<MatrixLibrary>>& matrix_libraries() {
    std::call_once(libraries_opened_, [&] {
      libraries_ = open_matrix_libraries();
      if (libraries_.empty()) log_info("{}: products of matrices run by portable kernels", queue().context().place);
    });
    return libraries_;
  }
  [[nodiscard]] bool multiplies_in_tf32() const noexcept { return products_ == VendorProducts::tf32; }
  [[nodiscard]] bool multiplies_f8() const noexcept { return multiplies_f8_; }

 protected:
  // Libraries that are not installed are left out: add_library().
  [[nodiscard]] virtual std::vector<std::unique_ptr<MatrixLibrary>> open_matrix_libraries() = 0;
  // Adds the library that open() returns; logs a line if it is not installed.
  template <class Open>
  void add_library(std::vector<std::unique_ptr<MatrixLibrary>>& libraries, const Open& open) {
    try {
      libraries.push_back(open());
    } catch (const Error& error) {
      log_info("{}: {}", queue().context().place, error.what());
    }
  }

 private:
  VendorProducts products_;
  bool multiplies_f8_;
  std::once_flag libraries_opened_;
  std::vector<std::unique_ptr<MatrixLibrary>> libraries_;
};

}  // namespace wick
