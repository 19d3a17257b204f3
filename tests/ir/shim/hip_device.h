// The words of HIP that the compiler does not know by itself, for compiling device code without ROCm's headers.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(n) __attribute__((amdgpu_flat_work_group_size(1, n)))

#include "vectors.h"

struct ShimIndex {
  unsigned x, y, z;
};
#define threadIdx (ShimIndex{__builtin_amdgcn_workitem_id_x(), 0, 0})
#define blockIdx (ShimIndex{__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z()})
#define gridDim                                                                    \
  (ShimIndex{__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(), \
             __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y(), \
             __builtin_amdgcn_grid_size_z() / __builtin_amdgcn_workgroup_size_z()})

// The compiler's own functions in place of those of ROCm's device library.
#define SHIM_FUNCTION(type, name, parameters, arguments) \
  extern "C" inline __device__ type name parameters { return __builtin_##name arguments; }
SHIM_FUNCTION(float, fminf, (float a, float b), (a, b))
SHIM_FUNCTION(float, fmaxf, (float a, float b), (a, b))
SHIM_FUNCTION(float, fabsf, (float a), (a))
SHIM_FUNCTION(float, exp2f, (float a), (a))
SHIM_FUNCTION(float, log2f, (float a), (a))
SHIM_FUNCTION(float, sinf, (float a), (a))
SHIM_FUNCTION(float, sqrtf, (float a), (a))
SHIM_FUNCTION(float, truncf, (float a), (a))
SHIM_FUNCTION(float, fmaf, (float a, float b, float c), (a, b, c))
SHIM_FUNCTION(double, fmin, (double a, double b), (a, b))
SHIM_FUNCTION(double, fmax, (double a, double b), (a, b))
SHIM_FUNCTION(double, fabs, (double a), (a))
SHIM_FUNCTION(double, sqrt, (double a), (a))
SHIM_FUNCTION(double, trunc, (double a), (a))
SHIM_FUNCTION(double, fma, (double a, double b, double c), (a, b, c))
#undef SHIM_FUNCTION

inline __device__ void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
inline __device__ int shim_lane() { return int(__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u))); }
template <class T>
__device__ T __shfl(T v, int lane, int width) {
  const int from = (lane & (width - 1)) + (shim_lane() & ~(width - 1));
  return __builtin_bit_cast(T, __builtin_amdgcn_ds_bpermute(from << 2, __builtin_bit_cast(int, v)));
}
template <class T>
__device__ T __shfl_xor(T v, int mask, int width) {
  return __shfl(v, shim_lane() ^ mask, width);
}
template <class T>
__device__ T atomicAdd(T* p, T v) {
  return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T>
__device__ T atomicMin(T* p, T v) {
  return __hip_atomic_fetch_min(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T>
__device__ T atomicMax(T* p, T v) {
  return __hip_atomic_fetch_max(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T>
__device__ T atomicAnd(T* p, T v) {
  return __hip_atomic_fetch_and(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T>
__device__ T atomicOr(T* p, T v) {
  return __hip_atomic_fetch_or(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T>
__device__ T atomicExch(T* p, T v) {
  return __hip_atomic_exchange(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
