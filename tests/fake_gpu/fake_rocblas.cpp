// The part of rocBLAS's interface that Wick calls, without a GPU: products on the host, in the order of the fake driver's streams.
#include <cstdint>
#include <cstring>

#include "fake_gpu.h"
#include "fake_stream.h"

namespace {

enum : int { kSuccess = 0, kNotImplemented = 2, kInvalidValue = 11 };
enum : int { kPlain = 111, kTransposed = 112, kF16 = 150, kF32 = 151, kBf16 = 168 };

float element(int type, const void* data, int64_t at) {
  if (type == kF32) return static_cast<const float*>(data)[at];
  if (type == kF16) return static_cast<float>(static_cast<const _Float16*>(data)[at]);
  const uint32_t bits = uint32_t{static_cast<const uint16_t*>(data)[at]} << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
void store(int type, void* data, int64_t at, float value) {
  if (type == kF32) static_cast<float*>(data)[at] = value;
  if (type == kF16) static_cast<_Float16*>(data)[at] = static_cast<_Float16>(value);
  if (type != kBf16) return;
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  static_cast<uint16_t*>(data)[at] = static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
bool is_type(int type) { return type == kF16 || type == kF32 || type == kBf16; }
bool is_way(int how) { return how == kPlain || how == kTransposed; }

struct Handle {
  void* stream = nullptr;
};

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))

FAKE int rocblas_create_handle(void** handle) {
  *handle = new Handle;
  return kSuccess;
}
FAKE int rocblas_destroy_handle(void* handle) {
  delete static_cast<Handle*>(handle);
  return kSuccess;
}
FAKE int rocblas_set_stream(void* handle, void* stream) {
  static_cast<Handle*>(handle)->stream = stream;
  return kSuccess;
}
FAKE const char* rocblas_status_to_string(int status) {
  return status == kNotImplemented ? "rocblas_status_not_implemented" : "rocblas_status_invalid_value";
}
FAKE int rocblas_gemm_strided_batched_ex(void* handle, int turn_a, int turn_b, int32_t m, int32_t n, int32_t k, const void* alpha,
                                         const void* a, int a_type, int32_t lda, int64_t stride_a, const void* b, int b_type, int32_t ldb,
                                         int64_t stride_b, const void* beta, const void*, int, int32_t, int64_t, void* d, int d_type,
                                         int32_t ldd, int64_t stride_d, int32_t batches, int sums, int algorithm, int32_t, uint32_t flags) {
  if (!is_way(turn_a) || !is_way(turn_b) || sums != kF32 || algorithm != 0 || flags != 0) return kInvalidValue;
  if (*static_cast<const float*>(alpha) != 1 || *static_cast<const float*>(beta) != 0) return kInvalidValue;
  if (lda < (turn_a == kPlain ? m : k) || ldb < (turn_b == kPlain ? k : n) || ldd < m) return kInvalidValue;
  if (!is_type(a_type) || a_type != b_type || !is_type(d_type)) return kNotImplemented;
  fake_gpu_state()->calls.emplace_back(__func__);
  return fake_gpu_push(static_cast<Handle*>(handle)->stream, [=] {
    for (int64_t batch = 0; batch < batches; ++batch) {
      for (int64_t column = 0; column < n; ++column) {
        for (int64_t row = 0; row < m; ++row) {
          float sum = 0;
          for (int64_t i = 0; i < k; ++i) {
            sum += element(a_type, a, batch * stride_a + (turn_a == kPlain ? i * lda + row : row * lda + i)) *
                   element(b_type, b, batch * stride_b + (turn_b == kPlain ? column * ldb + i : i * ldb + column));
          }
          store(d_type, d, batch * stride_d + column * ldd + row, sum);
        }
      }
    }
    return 0;
  });
}
