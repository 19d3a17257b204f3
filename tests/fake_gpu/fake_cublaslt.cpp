// cuBLASLt's interface or hipBLASLt's (hip_names.h) without a GPU: products on the host, in the order of the fake driver's streams. It has
// a way only for what the library's documentation says it has one for, and takes no numbers but those of its header. FAKE_HIPBLASLT="none"
// has a way for nothing.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "fake_gpu.h"
#include "fake_stream.h"

namespace {

enum : int { kSuccess = 0, kInvalidValue = 7, kNotSupported = 15 };
enum : int { kF32 = 0, kF16 = 2, kBf16 = 14, kF8E4M3 = 28 };
#ifdef FAKE_HIP
constexpr int kSumsF32 = 2, kSumsTf32 = 6;
constexpr int kTransposeA = 0, kTransposeB = 1, kBatchCount = 0, kBatchStride = 1;
constexpr int32_t kPlain = 111, kTransposed = 112;
constexpr size_t kAlgorithmWords = 3;
#else
constexpr int kSumsF32 = 68, kSumsTf32 = 77;
constexpr int kTransposeA = 3, kTransposeB = 4, kBatchCount = 5, kBatchStride = 6;
constexpr int32_t kPlain = 0, kTransposed = 1;
constexpr size_t kAlgorithmWords = 8;
#endif
constexpr int kWorkspaceBytes = 1;
constexpr uint64_t kMark = 0x77696b;  // in the last word of an algorithm that the fake has chosen

struct Description {
  int sums = 0;
  bool turns_a = false, turns_b = false;
};
struct Matrix {
  int type = 0;
  uint64_t rows = 0, columns = 0;
  int64_t stride = 0;
  int32_t batches = 1;
  int64_t batch = 0;
};
struct Choice {
  uint64_t algorithm[kAlgorithmWords];
  size_t workspace;
  int status;
  float waves;
  int reserved[4];
};

float bits_as_float(uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
float f8e4m3(uint8_t bits) {
  const int exponent = bits >> 3 & 15, mantissa = bits & 7;
  const float size = exponent == 0                     ? std::ldexp(static_cast<float>(mantissa), -9)
                     : exponent == 15 && mantissa == 7 ? NAN
                                                       : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  return (bits & 0x80) != 0 ? -size : size;
}
float element(const Matrix& matrix, const void* data, int64_t at) {
  switch (matrix.type) {
    case kF32: return static_cast<const float*>(data)[at];
    case kF16: return static_cast<float>(static_cast<const _Float16*>(data)[at]);
    case kBf16: return bits_as_float(uint32_t{static_cast<const uint16_t*>(data)[at]} << 16);
    default: return f8e4m3(static_cast<const uint8_t*>(data)[at]);
  }
}
void store(const Matrix& matrix, void* data, int64_t at, float value) {
  if (matrix.type == kF32) static_cast<float*>(data)[at] = value;
  if (matrix.type == kF16) static_cast<_Float16*>(data)[at] = static_cast<_Float16>(value);
  if (matrix.type != kBf16) return;
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  static_cast<uint16_t*>(data)[at] = static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
// To eleven bits, as the tensor cores do.
float tf32(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits_as_float((bits + 0x1000) & 0xffffe000);
}

bool has_a_way(const Description& d, const Matrix& a, const Matrix& b, const Matrix& c) {
  if (a.type != b.type || a.batches != b.batches || a.batches != c.batches) return false;
  if (d.sums != kSumsF32 && (d.sums != kSumsTf32 || a.type != kF32)) return false;
  if (a.type != kF8E4M3) return c.type == a.type || c.type == kF32;
  const bool whole = a.rows % 16 == 0 && a.columns % 16 == 0 && b.columns % 16 == 0;
  return d.turns_a && !d.turns_b && whole && c.type == kF32;
}

void multiply(const Description& d, const Matrix& a, const void* a_data, const Matrix& b, const void* b_data, const Matrix& c,
              void* c_data) {
  const auto k = static_cast<int64_t>(d.turns_a ? a.rows : a.columns);
  for (int64_t batch = 0; batch < c.batches; ++batch) {
    for (int64_t column = 0; column < static_cast<int64_t>(c.columns); ++column) {
      for (int64_t row = 0; row < static_cast<int64_t>(c.rows); ++row) {
        float sum = 0;
        for (int64_t i = 0; i < k; ++i) {
          float x = element(a, a_data, batch * a.batch + (d.turns_a ? row * a.stride + i : i * a.stride + row));
          float y = element(b, b_data, batch * b.batch + (d.turns_b ? i * b.stride + column : column * b.stride + i));
          if (d.sums == kSumsTf32) x = tf32(x), y = tf32(y);
          sum += x * y;
        }
        store(c, c_data, batch * c.batch + column * c.stride + row, sum);
      }
    }
  }
}

void note(const std::string& call) { fake_gpu_state()->calls.push_back(call); }

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))

FAKE int cublasLtCreate(void** handle) {
  *handle = new int(0);
  return kSuccess;
}
FAKE int cublasLtDestroy(void* handle) {
  delete static_cast<int*>(handle);
  return kSuccess;
}
FAKE int cublasLtMatmulDescCreate(void** description, int sums, int) {
  if (sums != kSumsF32 && sums != kSumsTf32) return kInvalidValue;
  *description = new Description{sums};
  return kSuccess;
}
FAKE int cublasLtMatmulDescSetAttribute(void* description, int attribute, const void* value, size_t bytes) {
  int32_t how = 0;
  if (bytes != sizeof how || (attribute != kTransposeA && attribute != kTransposeB)) return kInvalidValue;
  std::memcpy(&how, value, bytes);
  if (how != kPlain && how != kTransposed) return kInvalidValue;
  auto* all = static_cast<Description*>(description);
  (attribute == kTransposeA ? all->turns_a : all->turns_b) = how == kTransposed;
  return kSuccess;
}
FAKE int cublasLtMatmulDescDestroy(void* description) {
  delete static_cast<Description*>(description);
  return kSuccess;
}
FAKE int cublasLtMatrixLayoutCreate(void** layout, int type, uint64_t rows, uint64_t columns, int64_t stride) {
  if (stride < static_cast<int64_t>(rows)) return kInvalidValue;
  *layout = new Matrix{type, rows, columns, stride};
  return kSuccess;
}
FAKE int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value, size_t bytes) {
  auto* all = static_cast<Matrix*>(layout);
  if (attribute == kBatchCount && bytes == sizeof all->batches) return std::memcpy(&all->batches, value, bytes), kSuccess;
  if (attribute == kBatchStride && bytes == sizeof all->batch) return std::memcpy(&all->batch, value, bytes), kSuccess;
  return kInvalidValue;
}
FAKE int cublasLtMatrixLayoutDestroy(void* layout) {
  delete static_cast<Matrix*>(layout);
  return kSuccess;
}
FAKE int cublasLtMatmulPreferenceCreate(void** preference) {
  *preference = new int(0);
  return kSuccess;
}
FAKE int cublasLtMatmulPreferenceSetAttribute(void*, int attribute, const void*, size_t bytes) {
#ifdef FAKE_HIP
  return attribute == kWorkspaceBytes && bytes == sizeof(uint64_t) ? kSuccess : kInvalidValue;
#else
  constexpr int kAlignmentOfA = 5, kAlignmentOfD = 8;
  if (attribute == kWorkspaceBytes) return bytes == sizeof(uint64_t) ? kSuccess : kInvalidValue;
  return attribute >= kAlignmentOfA && attribute <= kAlignmentOfD && bytes == sizeof(uint32_t) ? kSuccess : kInvalidValue;
#endif
}
FAKE int cublasLtMatmulPreferenceDestroy(void* preference) {
  delete static_cast<int*>(preference);
  return kSuccess;
}
FAKE int cublasLtMatmulAlgoGetHeuristic(void*, void* description, void* a, void* b, void* c, void*, void*, int, Choice* choice,
                                        int* count) {
  const char* settings = std::getenv("FAKE_HIPBLASLT");
  const bool found =
      (settings == nullptr || std::string(settings) != "none") &&
      has_a_way(*static_cast<Description*>(description), *static_cast<Matrix*>(a), *static_cast<Matrix*>(b), *static_cast<Matrix*>(c));
  *count = found ? 1 : 0;
  *choice = {};
  choice->algorithm[kAlgorithmWords - 1] = kMark;
  return found ? kSuccess : kNotSupported;
}
FAKE int cublasLtMatmul(void*, void* description, const void*, const void* a, const void* a_layout, const void* b, const void* b_layout,
                        const void*, const void*, const void*, void* d, const void* d_layout, const void* algorithm, void*, size_t,
                        void* stream) {
  if (static_cast<const uint64_t*>(algorithm)[kAlgorithmWords - 1] != kMark) return kInvalidValue;
  note(std::string(__func__) + (static_cast<Description*>(description)->sums == kSumsTf32 ? " tf32" : ""));
  return fake_gpu_push(stream, [=, how = *static_cast<Description*>(description), left = *static_cast<const Matrix*>(a_layout),
                                right = *static_cast<const Matrix*>(b_layout), result = *static_cast<const Matrix*>(d_layout)] {
    multiply(how, left, a, right, b, result, d);
    return 0;
  });
}
#ifndef FAKE_HIP
FAKE const char* cublasLtGetStatusName(int status) {
  return status == kNotSupported ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS_OTHER";
}
#endif
