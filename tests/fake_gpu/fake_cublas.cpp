// cuBLAS's interface or hipBLAS's (hip_names.h) without a GPU, as far as examples/vendor-library uses it.
#include <cstdint>

#include "fake_stream.h"

namespace {

#ifdef FAKE_HIP
constexpr int kPlain = 111;
#else
constexpr int kPlain = 0;
#endif
constexpr int kInvalidValue = 7;

struct Handle {
  void* stream = nullptr;
};

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))

FAKE int cublasCreate_v2(void** handle) {
  *handle = new Handle;
  return 0;
}
FAKE int cublasDestroy_v2(void* handle) {
  delete static_cast<Handle*>(handle);
  return 0;
}
FAKE int cublasSetStream_v2(void* handle, void* stream) {
  static_cast<Handle*>(handle)->stream = stream;
  return 0;
}
// c [m, n] = alpha · a [m, k] · b [k, n] + beta · c, by columns.
FAKE int cublasSgemm_v2(void* handle, int turns_a, int turns_b, int m, int n, int k, const float* alpha, const float* a, int a_stride,
                        const float* b, int b_stride, const float* beta, float* c, int c_stride) {
  if (turns_a != kPlain || turns_b != kPlain) return kInvalidValue;
  return fake_gpu_push(static_cast<Handle*>(handle)->stream, [=, scale = *alpha, keep = *beta] {
    for (int column = 0; column < n; ++column) {
      for (int row = 0; row < m; ++row) {
        float sum = 0;
        for (int i = 0; i < k; ++i) sum += a[int64_t{i} * a_stride + row] * b[int64_t{column} * b_stride + i];
        float& result = c[int64_t{column} * c_stride + row];
        result = scale * sum + (keep == 0 ? 0 : keep * result);
      }
    }
    return 0;
  });
}
