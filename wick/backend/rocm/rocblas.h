// RocBlas is AMD's library of matrix products for all of their processors.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

#include "wick/base/dynlib.h"
#include "wick/device/streams/matrix_library.h"

namespace wick::rocm {

class RocBlas final : public MatrixLibrary {
 public:
  // Errors: unsupported for a library without some function; RocmError where it does not start.
  RocBlas(std::shared_ptr<const DynamicLibrary> library, StreamContext context);
  ~RocBlas() override;

  [[nodiscard]] bool multiply(const Product& product, StreamAddress a, StreamAddress b, StreamAddress c, StreamQueue& queue) override;

 private:
  struct Functions {
    int (*create)(void**) = nullptr;
    int (*destroy)(void*) = nullptr;
    int (*set_stream)(void*, void*) = nullptr;
    // handle; how a and b are stored; m, n, k; one; a, its type, stride and batch, b and its; zero; c and its, d and its; batches, the type
    // of the sums, algorithm, solution, flags
    int (*multiply)(void*, int, int, int32_t, int32_t, int32_t, const void*, const void*, int, int32_t, int64_t, const void*, int, int32_t,
                    int64_t, const void*, const void*, int, int32_t, int64_t, void*, int, int32_t, int64_t, int32_t, int, int, int32_t,
                    uint32_t) = nullptr;
    const char* (*status_text)(int) = nullptr;
  };
  void check(int status, std::string_view call) const;

  std::shared_ptr<const DynamicLibrary> library_;
  StreamContext context_;
  Functions functions_;
  std::mutex mutex_;
  void* handle_ = nullptr;
};

}  // namespace wick::rocm
