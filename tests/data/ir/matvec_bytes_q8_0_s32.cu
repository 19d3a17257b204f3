#include <cuda_fp16.h>
template <class T> __device__ __forceinline__ T wick_subgroup_add(T x) {
  for (int m = 32 / 2; m > 0; m /= 2) x += __shfl_xor_sync(0xffffffffu, x, m);
  return x;
}
template <class T> __device__ __forceinline__ T wick_subgroup_min(T x) {
  for (int m = 32 / 2; m > 0; m /= 2) { const T y = __shfl_xor_sync(0xffffffffu, x, m); x = y < x ? y : x; }
  return x;
}
template <class T> __device__ __forceinline__ T wick_subgroup_max(T x) {
  for (int m = 32 / 2; m > 0; m /= 2) { const T y = __shfl_xor_sync(0xffffffffu, x, m); x = x < y ? y : x; }
  return x;
}
struct Params { unsigned columns_; unsigned x_offset_; unsigned rows_; unsigned y_offset_; };
extern "C" __global__ void __launch_bounds__(128) wick_matvec_bytes_q8_0_s32(const unsigned* __restrict__ w_, const unsigned* __restrict__ bytes_, const float* __restrict__ scales_, float* __restrict__ y_, const Params p) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  float a0 = 0x0p+0f;
  const unsigned v0 = p.columns_ / 32u;
  const unsigned v1 = v0 * 2u;
  const unsigned v2 = blockIdx.y * gridDim.x;
  const unsigned v3 = v2 + blockIdx.x;
  const unsigned v4 = v3 * 4u;
  const unsigned v5 = v4 + (threadIdx.x / 32u);
  const unsigned v6 = p.rows_ - 1u;
  const unsigned v7 = v5 < v6 ? v5 : v6;
  const unsigned v8 = v7 * v0;
  const unsigned v9 = p.x_offset_ / 32u;
  for (unsigned i0 = (threadIdx.x % 32u); i0 < v1; i0 += 32u) {
    const unsigned v10 = i0 / 2u;
    const unsigned v11 = v8 + v10;
    const unsigned v12 = v11 * 34u;
    const unsigned v13 = v12 + 2u;
    const unsigned v14 = i0 % 2u;
    const unsigned v15 = v14 * 16u;
    const unsigned v16 = v13 + v15;
    const unsigned v17 = v16 >> 2u;
    const unsigned v18 = v17 + 3u;
    const unsigned v19 = w_[v18];
    const unsigned v20 = w_[v17];
    const unsigned v21 = v17 + 2u;
    const unsigned v22 = w_[v21];
    const unsigned v23 = v9 + v10;
    const float v24 = scales_[v23];
    const float v25 = a0;
    const unsigned v26 = v17 + 1u;
    const unsigned v27 = w_[v26];
    const unsigned v28 = v23 * 8u;
    const unsigned v29 = v14 * 4u;
    const unsigned v30 = v28 + v29;
    const uint4 v31 = *reinterpret_cast<const uint4*>(&bytes_[v30]);
    const unsigned v32 = v12 >> 2u;
    const unsigned v33 = w_[v32];
    const unsigned v34 = v17 + 4u;
    const unsigned v35 = v16 & 2u;
    const bool v36 = v35 == 0u;
    const bool v37 = !v36;
    unsigned v38 = 0u;
    if (v37) { v38 = w_[v34]; }
    const unsigned v39 = v19 >> 16u;
    const unsigned v40 = v38 << 16u;
    const unsigned v41 = v39 | v40;
    const unsigned v42 = v37 ? v41 : v19;
    const unsigned v43 = v22 >> 16u;
    const unsigned v44 = v19 << 16u;
    const unsigned v45 = v43 | v44;
    const unsigned v46 = v37 ? v45 : v22;
    const unsigned v47 = v27 >> 16u;
    const unsigned v48 = v22 << 16u;
    const unsigned v49 = v47 | v48;
    const unsigned v50 = v37 ? v49 : v27;
    const unsigned v51 = v20 >> 16u;
    const unsigned v52 = v27 << 16u;
    const unsigned v53 = v51 | v52;
    const unsigned v54 = v37 ? v53 : v20;
    const int v55 = __dp4a((int)v54, (int)v31.x, 0);
    const int v56 = __dp4a((int)v50, (int)v31.y, v55);
    const int v57 = __dp4a((int)v46, (int)v31.z, v56);
    const int v58 = __dp4a((int)v42, (int)v31.w, v57);
    const float v59 = (float)(v58);
    const unsigned v60 = v12 & 2u;
    const unsigned v61 = v60 * 8u;
    const unsigned v62 = v33 >> v61;
    const float v63 = __half2float(__ushort_as_half((unsigned short)v62));
    const float v64 = __fmul_rn(v63, v24);
    const float v65 = __fmul_rn(v59, v64);
    const float v66 = __fadd_rn(v25, v65);
    a0 = v66;
  }
  const float v67 = a0;
  const float v68 = wick_subgroup_add(v67);
  const unsigned v69 = p.y_offset_ + v5;
  const bool v70 = (threadIdx.x % 32u) == 0u;
  const bool v71 = v5 < p.rows_;
  const bool v72 = v70 && v71;
  if (v72) { y_[v69] = v68; }
}
