// CublasLt is NVIDIA's library of matrix products, opened when the first product that is large enough comes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "wick/base/dynlib.h"
#include "wick/device/stream_queue.h"

namespace wick::cuda {

// Types of elements, as the library numbers them.
enum class MatrixType : int32_t { f32 = 0, f16 = 2, bf16 = 14, f8e4m3 = 28 };

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

class CublasLt {
 public:
  // Errors: not_found; unsupported for one without some function; CudaError where it does not start.
  CublasLt(StreamContext context, int driver_version);
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  // Queues the product; false where the library has no way for it. Errors: CudaError.
  [[nodiscard]] bool multiply(const Product& product, StreamAddress a, StreamAddress b, StreamAddress c, StreamQueue& queue);

 private:
  struct Functions {
    int (*create)(void**) = nullptr;
    int (*destroy)(void*) = nullptr;
    int (*description_create)(void**, int, int) = nullptr;
    int (*description_set)(void*, int, const void*, size_t) = nullptr;
    int (*description_destroy)(void*) = nullptr;
    int (*layout_create)(void**, int, uint64_t, uint64_t, int64_t) = nullptr;
    int (*layout_set)(void*, int, const void*, size_t) = nullptr;
    int (*layout_destroy)(void*) = nullptr;
    int (*preference_create)(void**) = nullptr;
    int (*preference_set)(void*, int, const void*, size_t) = nullptr;
    int (*preference_destroy)(void*) = nullptr;
    int (*choose)(void*, void*, void*, void*, void*, void*, void*, int, void*, int*) = nullptr;
    // handle, description, one, a and its layout, b and its, zero, c and its, d and its, algorithm, workspace and its bytes, stream
    int (*run)(void*, void*, const void*, const void*, void*, const void*, void*, const void*, const void*, void*, void*, void*,
               const void*, void*, size_t, void*) = nullptr;
    const char* (*status_name)(int) = nullptr;
  };
  // How a product is carried out; `found` is false where there is no way.
  struct Plan {
    void *description = nullptr, *a = nullptr, *b = nullptr, *c = nullptr;
    std::array<uint64_t, 8> algorithm{};
    bool found = false;
  };
  using Key = std::array<int64_t, 18>;

  void bind_all();
  void check(int status, const char* call) const;
  [[nodiscard]] Plan make_plan(const Product& product, const std::array<int64_t, 3>& alignments);
  [[nodiscard]] void* make_layout(MatrixType type, int64_t rows, int64_t columns, int64_t stride, int64_t batches, int64_t batch);
  void choose_algorithm(Plan& plan, const std::array<int64_t, 3>& alignments);

  std::shared_ptr<const DynamicLibrary> library_;
  StreamContext context_;
  Functions functions_;
  std::mutex mutex_;
  void* handle_ = nullptr;
  std::unique_ptr<StreamBuffer> workspace_;
  std::map<Key, Plan> plans_;
};

}  // namespace wick::cuda
