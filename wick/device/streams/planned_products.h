// PlannedProducts is a MatrixLibrary over cuBLASLt or hipBLASLt: it selects an algorithm for each matrix product once and caches the plan.
// Both have the same functions, under their own prefixes and with their own enum values.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "wick/base/dynlib.h"
#include "wick/device/streams/matrix_library.h"

namespace wick {

// Names that differ between vendors.
struct PlannedProductsNames {
  std::string_view prefix;  // of its functions
  bool names_statuses;      // whether it has a function GetStatusName
  // Its enum values.
  std::array<int, kMatrixTypes> types;      // of elements, by MatrixType
  int sums_f32, sums_tf32;                  // how sums are computed
  int plain, transposed;                    // by columns, by rows
  int transpose_a, transpose_b;             // attributes of a description
  int batch_count, batch_stride;            // attributes of a layout
  int workspace_bytes;                      // attribute of a preference
  int alignment_of_a;                       // the same, those of b, c and d follow; -1: there is none
  size_t algorithm_bytes;                   // of its structure, which is what a choice begins with
  static constexpr int kNotSupported = 15;  // the status of a product that it has no way for
};

class PlannedProducts final : public MatrixLibrary {
 public:
  // Errors: unsupported for a library without some function; the vendor's DriverError where it does not start.
  PlannedProducts(std::shared_ptr<const DynamicLibrary> library, const PlannedProductsNames& names, StreamContext context);
  ~PlannedProducts() override;

  [[nodiscard]] bool multiply(const Product& product, StreamAddress a, StreamAddress b, StreamAddress c, StreamQueue& queue) override;

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
  // An algorithm as the library describes it; more than any vendor's takes.
  using Algorithm = std::array<uint64_t, 8>;
  // How a product is carried out; `found` is false where there is no way.
  struct Plan {
    void *description = nullptr, *a = nullptr, *b = nullptr, *c = nullptr;
    Algorithm algorithm{};
    bool found = false;
  };
  using Key = std::array<int64_t, 18>;

  void bind_all();
  // `name`: of the function, without the prefix.
  void check(int status, std::string_view name) const;
  [[nodiscard]] Plan make_plan(const Product& product, const std::array<int64_t, 3>& alignments);
  [[nodiscard]] void* make_layout(MatrixType type, int64_t rows, int64_t columns, int64_t stride, int64_t batches, int64_t batch);
  void choose_algorithm(Plan& plan, const std::array<int64_t, 3>& alignments);

  std::shared_ptr<const DynamicLibrary> library_;
  const PlannedProductsNames& names_;
  StreamContext context_;
  Functions functions_;
  std::mutex mutex_;
  void* handle_ = nullptr;
  std::unique_ptr<StreamBuffer> workspace_;
  std::map<Key, Plan> plans_;
};

}  // namespace wick
