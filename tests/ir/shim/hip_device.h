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
#define gridDim (ShimIndex{__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(), 1, 1})

extern "C" {
__device__ float fminf(float, float);
__device__ float fmaxf(float, float);
__device__ float fabsf(float);
__device__ float exp2f(float);
__device__ float log2f(float);
__device__ float sinf(float);
__device__ float sqrtf(float);
__device__ float truncf(float);
__device__ float fmaf(float, float, float);
__device__ double fmin(double, double);
__device__ double fmax(double, double);
__device__ double fabs(double);
__device__ double sqrt(double);
__device__ double trunc(double);
__device__ double fma(double, double, double);
}
inline __device__ void __syncthreads() { __builtin_amdgcn_s_barrier(); }
template <class T>
__device__ T __shfl(T v, int lane, int) {
  return __builtin_bit_cast(T, __builtin_amdgcn_ds_bpermute(lane << 2, __builtin_bit_cast(int, v)));
}
template <class T>
__device__ T __shfl_xor(T v, int mask, int width) {
  return __shfl(v, int(__builtin_amdgcn_mbcnt_lo(~0u, 0u)) ^ mask, width);
}
template <class T>
__device__ T atomicAdd(T* p, T v) {
  return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}
template <class T>
__device__ T atomicMin(T* p, T v) {
  return __atomic_fetch_min(p, v, __ATOMIC_RELAXED);
}
template <class T>
__device__ T atomicMax(T* p, T v) {
  return __atomic_fetch_max(p, v, __ATOMIC_RELAXED);
}
template <class T>
__device__ T atomicAnd(T* p, T v) {
  return __atomic_fetch_and(p, v, __ATOMIC_RELAXED);
}
template <class T>
__device__ T atomicOr(T* p, T v) {
  return __atomic_fetch_or(p, v, __ATOMIC_RELAXED);
}
template <class T>
__device__ T atomicExch(T* p, T v) {
  return __atomic_exchange_n(p, v, __ATOMIC_RELAXED);
}
