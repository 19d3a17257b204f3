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
struct Params { unsigned blocks_; unsigned rows_; };
extern "C" __global__ void __launch_bounds__(128) wick_matvec_q8_0_s32(const unsigned* __restrict__ w_, const unsigned* __restrict__ bytes_, const float* __restrict__ scales_, float* __restrict__ y_, const Params p) {
  float a0 = 0x0p+0f;
  const unsigned v0 = p.blocks_ * 2u;
  const unsigned v1 = blockIdx.x * 4u;
  const unsigned v2 = v1 + (threadIdx.x / 32u);
  const unsigned v3 = p.rows_ - 1u;
  const unsigned v4 = v2 < v3 ? v2 : v3;
  const unsigned v5 = v4 * p.blocks_;
  for (unsigned i0 = (threadIdx.x % 32u); i0 < v0; i0 += 32u) {
    const unsigned v6 = i0 / 2u;
    const unsigned v7 = v5 + v6;
    const unsigned v8 = v7 * 34u;
    const unsigned v9 = v8 + 2u;
    const unsigned v10 = i0 % 2u;
    const unsigned v11 = v10 * 16u;
    const unsigned v12 = v9 + v11;
    const unsigned v13 = v12 >> 2u;
    const unsigned v14 = v13 + 3u;
    const unsigned v15 = w_[v14];
    const unsigned v16 = v6 * 8u;
    const unsigned v17 = v10 * 4u;
    const unsigned v18 = v16 + v17;
    const uint4 v19 = *reinterpret_cast<const uint4*>(&bytes_[v18]);
    const unsigned v20 = v13 + 2u;
    const unsigned v21 = w_[v20];
    const float v22 = a0;
    const unsigned v23 = v8 >> 2u;
    const unsigned v24 = w_[v23];
    const unsigned v25 = v13 + 1u;
    const unsigned v26 = w_[v25];
    const unsigned v27 = w_[v13];
    const unsigned v28 = v13 + 4u;
    const unsigned v29 = v12 & 2u;
    const bool v30 = v29 == 0u;
    const bool v31 = !v30;
    unsigned v32 = 0u;
    if (v31) { v32 = w_[v28]; }
    const float v33 = scales_[v6];
    const unsigned v34 = v15 >> 16u;
    const unsigned v35 = v32 << 16u;
    const unsigned v36 = v34 | v35;
    const unsigned v37 = v31 ? v36 : v15;
    const unsigned v38 = v21 >> 16u;
    const unsigned v39 = v15 << 16u;
    const unsigned v40 = v38 | v39;
    const unsigned v41 = v31 ? v40 : v21;
    const unsigned v42 = v26 >> 16u;
    const unsigned v43 = v21 << 16u;
    const unsigned v44 = v42 | v43;
    const unsigned v45 = v31 ? v44 : v26;
    const unsigned v46 = v27 >> 16u;
    const unsigned v47 = v26 << 16u;
    const unsigned v48 = v46 | v47;
    const unsigned v49 = v31 ? v48 : v27;
    const int v50 = __dp4a((int)v49, (int)v19.x, 0);
    const int v51 = __dp4a((int)v45, (int)v19.y, v50);
    const int v52 = __dp4a((int)v41, (int)v19.z, v51);
    const int v53 = __dp4a((int)v37, (int)v19.w, v52);
    const float v54 = (float)(v53);
    const unsigned v55 = v8 & 2u;
    const unsigned v56 = v55 * 8u;
    const unsigned v57 = v24 >> v56;
    const float v58 = __half2float(__ushort_as_half((unsigned short)v57));
    const float v59 = __fmul_rn(v58, v33);
    const float v60 = __fmul_rn(v54, v59);
    const float v61 = __fadd_rn(v22, v60);
    a0 = v61;
  }
  const float v62 = a0;
  const float v63 = wick_subgroup_add(v62);
  const bool v64 = (threadIdx.x % 32u) == 0u;
  const bool v65 = v2 < p.rows_;
  const bool v66 = v64 && v65;
  if (v66) { y_[v2] = v63; }
}
