// A MatrixLibrary is a vendor's library of matrix products, for devices whose queues are streams.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wick/device/streams/stream_queue.h"

namespace wick {

enum class MatrixType : uint8_t { f32, f16, bf16, f8e4m3 };
inline constexpr size_t kMatrixTypes = 4;

// c [m, n] = a [m, k] · b [k, n], all stored by columns, a and b also by rows (transposed); sums are f32. Of f8, a is stored by rows, and
// the result is f32.
struct Product {
  MatrixType type = MatrixType::f32, result = MatrixType::f32;
  bool tf32 = false;  // operands of f32 are rounded to 11 bits
  bool a_by_rows = false, b_by_rows = false;
  int64_t m = 0, n = 0, k = 0;
  int64_t a_stride = 0, b_stride = 0, c_stride = 0;  // from column to column, or from row to row, in elements
  int64_t batches = 1, a_batch = 0, b_batch = 0, c_batch = 0;
};

// Any thread may call, one at a time.
class MatrixLibrary {
 public:
  MatrixLibrary() = default;
  virtual ~MatrixLibrary() = default;
  MatrixLibrary(const MatrixLibrary&) = delete;
  MatrixLibrary& operator=(const MatrixLibrary&) = delete;

  // Queues the product; false where the library has no way for it. Errors: the vendor's DriverError.
  [[nodiscard]] virtual bool multiply(const Product& product, StreamAddress a, StreamAddress b, StreamAddress c, StreamQueue& queue) = 0;
};

}  // namespace wick
