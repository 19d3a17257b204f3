// CUDA C++ and HIP C++ as C++ for the host: enough of them to run the printed kernels.
#pragma once

#include "fibers.h"

#define __global__
#define __device__
#define __forceinline__ inline
#define __restrict__
#define __launch_bounds__(...)
#define __shared__ static

#define blockIdx shim::group
#define gridDim shim::groups
#define threadIdx (shim::Index{shim::current, 0, 0})

#include "vectors.h"

inline void __syncthreads() { shim::wait(); }
template <class T>
T __shfl_xor_sync(unsigned, T v, int mask) {
  return shim::from_lane(v, shim::current % shim::subgroup_size ^ unsigned(mask));
}
template <class T>
T __shfl_sync(unsigned, T v, int lane) {
  return shim::from_lane(v, unsigned(lane));
}
template <class T>
T __shfl_xor(T v, int mask, int) {
  return __shfl_xor_sync(0, v, mask);
}
template <class T>
T __shfl(T v, int lane, int) {
  return __shfl_sync(0, v, lane);
}

template <class T>
T __ldcs(const T* at) {
  return *at;
}

using __half = _Float16;
template <class To, class From>
To shim_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}
inline float __uint_as_float(unsigned v) { return shim_bits<float>(v); }
inline float __int_as_float(int v) { return shim_bits<float>(v); }
inline unsigned __float_as_uint(float v) { return shim_bits<unsigned>(v); }
inline int __float_as_int(float v) { return shim_bits<int>(v); }
inline double __longlong_as_double(long long v) { return shim_bits<double>(v); }
inline long long __double_as_longlong(double v) { return shim_bits<long long>(v); }
inline float __half2float(__half v) { return v; }
inline __half __float2half_rn(float v) { return __half(v); }
struct __half2 {
  __half x, y;
};
inline __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
inline __half __ushort_as_half(unsigned short v) { return shim_bits<__half>(v); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline __half __hadd_rn(__half a, __half b) { return a + b; }
inline __half __hsub_rn(__half a, __half b) { return a - b; }
inline __half __hmul_rn(__half a, __half b) { return a * b; }
inline __half __hdiv(__half a, __half b) { return a / b; }
inline __half __hfma(__half a, __half b, __half c) { return __half(std::fma(float(a), float(b), float(c))); }
inline __half __hneg(__half a) { return -a; }
inline __half __habs(__half a) { return a < 0 ? -a : a; }
inline __half __hmin(__half a, __half b) { return b < a ? b : a; }
inline __half __hmax(__half a, __half b) { return a < b ? b : a; }
inline __half hsqrt(__half a) { return __half(std::sqrt(float(a))); }
inline __half hexp2(__half a) { return __half(std::exp2(float(a))); }
inline __half hlog2(__half a) { return __half(std::log2(float(a))); }
inline __half hsin(__half a) { return __half(std::sin(float(a))); }
inline __half htrunc(__half a) { return __half(std::trunc(float(a))); }
inline bool __hlt(__half a, __half b) { return a < b; }
inline bool __hle(__half a, __half b) { return a <= b; }
inline bool __heq(__half a, __half b) { return a == b; }
inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 32; i += 8) c += int(static_cast<signed char>(a >> i)) * int(static_cast<signed char>(b >> i));
  return c;
}
// One thread runs all lanes: nothing is divided.
template <class T, class F>
T shim_update(T* at, F f) {
  const T before = *at;
  *at = f(before);
  return before;
}
template <class T>
T atomicAdd(T* at, T v) {
  return shim_update(at, [&](T x) { return T(x + v); });
}
template <class T>
T atomicMin(T* at, T v) {
  return shim_update(at, [&](T x) { return v < x ? v : x; });
}
template <class T>
T atomicMax(T* at, T v) {
  return shim_update(at, [&](T x) { return x < v ? v : x; });
}
template <class T>
T atomicAnd(T* at, T v) {
  return shim_update(at, [&](T x) { return T(x & v); });
}
template <class T>
T atomicOr(T* at, T v) {
  return shim_update(at, [&](T x) { return T(x | v); });
}
template <class T>
T atomicExch(T* at, T v) {
  return shim_update(at, [&](T) { return v; });
}

namespace nvcuda::wmma {
struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
enum layout_t { mem_row_major };
template <class Role, unsigned m, unsigned n, unsigned k, class T, class Layout = void>
struct fragment;
template <unsigned m, unsigned n, unsigned k, class T>
struct fragment<matrix_a, m, n, k, T, row_major> : shim::Tile<T, m, k> {};
template <unsigned m, unsigned n, unsigned k, class T>
struct fragment<matrix_b, m, n, k, T, row_major> : shim::Tile<T, k, n> {};
template <unsigned m, unsigned n, unsigned k, class T>
struct fragment<accumulator, m, n, k, T> : shim::Tile<T, m, n> {
  static constexpr int num_elements = m * n;
  T (&x)[m * n] = reinterpret_cast<T (&)[m * n]>(this->at);
};
template <class F>
void fill_fragment(F& f, float v) {
  f.fill(v);
}
template <class F, class T>
void load_matrix_sync(F& f, const T* from, unsigned stride) {
  f.load(from, stride);
}
template <class F, class T>
void load_matrix_sync(F& f, const T* from, unsigned stride, layout_t) {
  f.load(from, stride);
}
template <class F, class T>
void store_matrix_sync(T* to, const F& f, unsigned stride, layout_t) {
  f.store(to, stride);
}
template <class C, class A, class B>
void mma_sync(C& c, const A& a, const B& b, const C&) {
  shim::multiply(c, a, b);
}
}  // namespace nvcuda::wmma

// The same as the instruction gives, from what all lanes of the subgroup have.
inline unsigned wick_fma_halves(unsigned a, unsigned b, unsigned c) {
  unsigned sums = 0;
  for (int shift = 0; shift < 32; shift += 16) {
    const auto half = [shift](unsigned word) { return float(shim_bits<__half>(static_cast<unsigned short>(word >> shift))); };
    sums |= unsigned(shim_bits<unsigned short>(__half(std::fma(half(a), half(b), half(c))))) << shift;
  }
  return sums;
}
inline void wick_tile_multiply(float4& c, uint4 a, uint2 b) {
  struct Words {
    unsigned low, high;
  };
  constexpr unsigned kLanes = 32;
  Words left[2][kLanes], right[kLanes];
  const auto gather = [&](Words mine, Words(&all)[kLanes]) {
    const std::uint64_t* first = shim::exchange(mine) + shim::current / kLanes * kLanes;
    for (unsigned lane = 0; lane < kLanes; ++lane) std::memcpy(&all[lane], first + lane, sizeof all[lane]);
  };
  gather({a.x, a.y}, left[0]);
  gather({a.z, a.w}, left[1]);
  gather({b.x, b.y}, right);
  const auto half = [](unsigned word, unsigned k) { return float(shim_bits<__half>(static_cast<unsigned short>(word >> (k % 2 * 16)))); };
  const unsigned lane = shim::current % kLanes, g = lane / 4;
  float* const sums[2][2] = {{&c.x, &c.y}, {&c.z, &c.w}};
  for (unsigned r = 0; r < 2; ++r) {
    for (unsigned column = 0; column < 2; ++column) {
      for (unsigned k = 0; k < 16; ++k) {
        const Words row = left[k / 8][g * 4 + k % 8 / 2], depth = right[(lane % 4 * 2 + column) * 4 + k % 8 / 2];
        *sums[r][column] += half(r == 0 ? row.low : row.high, k) * half(k < 8 ? depth.low : depth.high, k);
      }
    }
  }
}

// Runs a kernel with these buffers and parameters.
template <class... A>
void shim_run(void (*kernel)(A...), const unsigned* grid, unsigned lanes, unsigned subgroup, void* const* buffers, const void* parameters) {
  shim::run(grid, lanes, subgroup, [=] {
    shim::Arguments arguments{buffers, parameters};
    std::tuple<A...> values{arguments.get<A>()...};
    std::apply(kernel, values);
  });
}
