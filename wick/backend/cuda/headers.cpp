#include "wick/backend/cuda/headers.h"

#include <fmt/format.h>

#include <span>

#include "wick/base/hash.h"

namespace wick::cuda {
namespace {

// Operations that a wider type carries out without a second rounding are written with it: f32 has more than twice the digits of f16 and
// two more, so that quotients and roots too are rounded as if once.
constexpr const char* kHalves = R"(#pragma once
struct __half {
  unsigned short bits;
};
struct alignas(4) __half2 {
  __half x, y;
};
#define WICK_FUNCTION __device__ __forceinline__
WICK_FUNCTION __half __ushort_as_half(unsigned short bits) { return __half{bits}; }
WICK_FUNCTION unsigned short __half_as_ushort(__half a) { return a.bits; }
WICK_FUNCTION float __half2float(__half a) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(a.bits));
  return r;
}
WICK_FUNCTION __half __float2half_rn(float a) {
  __half r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(a));
  return r;
}
WICK_FUNCTION __half __float2half(float a) { return __float2half_rn(a); }
WICK_FUNCTION __half2 __floats2half2_rn(float a, float b) { return __half2{__float2half_rn(a), __float2half_rn(b)}; }
#define WICK_HALF_BINARY(name, instruction)                                                    \
  WICK_FUNCTION __half name(__half a, __half b) {                                              \
    __half r;                                                                                  \
    asm(instruction " %0, %1, %2;" : "=h"(r.bits) : "h"(a.bits), "h"(b.bits));                 \
    return r;                                                                                  \
  }
WICK_HALF_BINARY(__hadd, "add.f16")
WICK_HALF_BINARY(__hsub, "sub.f16")
WICK_HALF_BINARY(__hmul, "mul.f16")
WICK_HALF_BINARY(__hadd_rn, "add.rn.f16")
WICK_HALF_BINARY(__hsub_rn, "sub.rn.f16")
WICK_HALF_BINARY(__hmul_rn, "mul.rn.f16")
WICK_FUNCTION __half __hfma(__half a, __half b, __half c) {
  __half r;
  asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(r.bits) : "h"(a.bits), "h"(b.bits), "h"(c.bits));
  return r;
}
#define WICK_HALF_BY_FLOAT(name, value)                                                        \
  WICK_FUNCTION __half name(__half h) {                                                        \
    const float a = __half2float(h);                                                           \
    return __float2half_rn(value);                                                             \
  }
WICK_HALF_BY_FLOAT(hsqrt, __fsqrt_rn(a))
WICK_HALF_BY_FLOAT(hexp2, exp2f(a))
WICK_HALF_BY_FLOAT(hlog2, log2f(a))
WICK_HALF_BY_FLOAT(hsin, sinf(a))
WICK_HALF_BY_FLOAT(htrunc, truncf(a))
WICK_FUNCTION __half __hdiv(__half a, __half b) { return __float2half_rn(__fdiv_rn(__half2float(a), __half2float(b))); }
WICK_FUNCTION __half __hmin(__half a, __half b) { return __float2half_rn(fminf(__half2float(a), __half2float(b))); }
WICK_FUNCTION __half __hmax(__half a, __half b) { return __float2half_rn(fmaxf(__half2float(a), __half2float(b))); }
WICK_FUNCTION __half __hneg(__half a) { return __half{(unsigned short)(a.bits ^ 0x8000u)}; }
WICK_FUNCTION __half __habs(__half a) { return __half{(unsigned short)(a.bits & 0x7fffu)}; }
WICK_FUNCTION bool __hlt(__half a, __half b) { return __half2float(a) < __half2float(b); }
WICK_FUNCTION bool __hle(__half a, __half b) { return __half2float(a) <= __half2float(b); }
WICK_FUNCTION bool __heq(__half a, __half b) { return __half2float(a) == __half2float(b); }
template <class T>
WICK_FUNCTION T wick_exchange_half(unsigned mask, T v, int lane, bool by_xor) {
  const int word = v.bits;
  return T{(unsigned short)(by_xor ? __shfl_xor_sync(mask, word, lane) : __shfl_sync(mask, word, lane))};
}
WICK_FUNCTION __half __shfl_xor_sync(unsigned mask, __half v, int lanes) { return wick_exchange_half(mask, v, lanes, true); }
WICK_FUNCTION __half __shfl_sync(unsigned mask, __half v, int lane) { return wick_exchange_half(mask, v, lane, false); }
WICK_FUNCTION __half operator+(__half a, __half b) { return __hadd(a, b); }
WICK_FUNCTION __half& operator+=(__half& a, __half b) { return a = __hadd(a, b); }
WICK_FUNCTION bool operator<(__half a, __half b) { return __hlt(a, b); }
)";

// The PTX instructions wmma.load, wmma.mma and wmma.store for 16 × 16 × 16 products of f16 into f32 (PTX ISA, "Warp Level Matrix
// Multiply-Accumulate"). Each lane holds 8 words of an operand and 8 sums. Loads of shared memory say so: a load from anywhere is several
// times slower, and the compiler does not look into assembler.
constexpr const char* kTiles = R"(#pragma once
#include <cuda_fp16.h>
namespace nvcuda::wmma {
struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
enum layout_t { mem_row_major };
template <class Role, int m, int n, int k, class T, class Layout = void>
struct fragment;
struct wick_operand {
  unsigned x[8];
};
template <>
struct fragment<matrix_a, 16, 16, 16, __half, row_major> : wick_operand {};
template <>
struct fragment<matrix_b, 16, 16, 16, __half, row_major> : wick_operand {};
template <>
struct fragment<accumulator, 16, 16, 16, float> {
  static constexpr int num_elements = 8;
  float x[8];
};
using wick_a = fragment<matrix_a, 16, 16, 16, __half, row_major>;
using wick_b = fragment<matrix_b, 16, 16, 16, __half, row_major>;
using wick_sums = fragment<accumulator, 16, 16, 16, float>;
__device__ __forceinline__ void fill_fragment(wick_sums& f, float v) {
  for (int i = 0; i < 8; ++i) f.x[i] = v;
}
#define WICK_EIGHT(c, f) c(f.x[0]), c(f.x[1]), c(f.x[2]), c(f.x[3]), c(f.x[4]), c(f.x[5]), c(f.x[6]), c(f.x[7])
#define WICK_LOAD_FROM(role, space, element, result, address)                                              \
  asm volatile("wmma.load." role ".sync.aligned.row.m16n16k16" space "." element                           \
               " {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"                                              \
               : WICK_EIGHT(result, f)                                                                     \
               : address, "r"(stride)                                                                      \
               : "memory")
#define WICK_LOAD(type, role, T, element, result, ...)                                                     \
  __device__ __forceinline__ void load_matrix_sync(type& f, const T* from, unsigned stride __VA_ARGS__) {  \
    if (__isShared(from)) {                                                                                \
      WICK_LOAD_FROM(role, ".shared", element, result, "l"(__cvta_generic_to_shared(from)));               \
    } else {                                                                                               \
      WICK_LOAD_FROM(role, "", element, result, "l"(from));                                                \
    }                                                                                                      \
  }
WICK_LOAD(wick_a, "a", __half, "f16", "=r")
WICK_LOAD(wick_b, "b", __half, "f16", "=r")
WICK_LOAD(wick_sums, "c", float, "f32", "=f", , layout_t)
#define WICK_STORE(space, address)                                                                                          \
  asm volatile("wmma.store.d.sync.aligned.row.m16n16k16" space ".f32 [%0], {%2, %3, %4, %5, %6, %7, %8, %9}, %1;"           \
               :                                                                                                            \
               : address, "r"(stride), WICK_EIGHT("f", f)                                                                   \
               : "memory")
__device__ __forceinline__ void store_matrix_sync(float* to, const wick_sums& f, unsigned stride, layout_t) {
  if (__isShared(to)) {
    WICK_STORE(".shared", "l"(__cvta_generic_to_shared(to)));
  } else {
    WICK_STORE("", "l"(to));
  }
}
__device__ __forceinline__ void mma_sync(wick_sums& d, const wick_a& a, const wick_b& b, const wick_sums& c) {
  asm("wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11, %12, %13, %14, %15}, "
      "{%16, %17, %18, %19, %20, %21, %22, %23}, {%24, %25, %26, %27, %28, %29, %30, %31};"
      : WICK_EIGHT("=f", d)
      : WICK_EIGHT("r", a), WICK_EIGHT("r", b), WICK_EIGHT("f", c));
}
}  // namespace nvcuda::wmma
)";

}  // namespace

const std::array<Header, 2> kHeaders{{{"cuda_fp16.h", kHalves}, {"mma.h", kTiles}}};

const std::array<const char*, 2>& header_texts() noexcept {
  static const std::array<const char*, 2> texts{kHeaders[0].text, kHeaders[1].text};
  return texts;
}

const std::array<const char*, 2>& header_names() noexcept {
  static const std::array<const char*, 2> names{kHeaders[0].name, kHeaders[1].name};
  return names;
}

std::string headers_key() {
  const std::string text = std::string(kHalves) + kTiles;
  return fmt::format("{:016x}", fnv1a(kFnvBasis, std::as_bytes(std::span(text))));
}

}  // namespace wick::cuda
