__device__ __forceinline__ int wick_dot4(unsigned a, unsigned b, int c) {
#if defined(WICK_SUDOT4)
  return __builtin_amdgcn_sudot4(true, (int)a, true, (int)b, c, false);
#elif defined(WICK_SDOT4)
  return __builtin_amdgcn_sdot4((int)a, (int)b, c, false);
#else
  for (int i = 0; i < 32; i += 8) c += (int)(signed char)(a >> i) * (int)(signed char)(b >> i);
  return c;
#endif
}
template <class T> __device__ __forceinline__ T wick_subgroup_add(T x) {
  for (int m = 32 / 2; m > 0; m /= 2) x += __shfl_xor(x, m, 32);
  return x;
}
template <class T> __device__ __forceinline__ T wick_subgroup_min(T x) {
  for (int m = 32 / 2; m > 0; m /= 2) { const T y = __shfl_xor(x, m, 32); x = y < x ? y : x; }
  return x;
}
template <class T> __device__ __forceinline__ T wick_subgroup_max(T x) {
  for (int m = 32 / 2; m > 0; m /= 2) { const T y = __shfl_xor(x, m, 32); x = x < y ? y : x; }
  return x;
}
#pragma clang fp contract(off)
struct Params { unsigned columns_; unsigned x_offset_; unsigned first_block_; unsigned rows_; unsigned y_offset_; };
extern "C" __global__ void __launch_bounds__(128) wick_matvec_bytes_q8_0_s32(const unsigned* __restrict__ w_, const unsigned* __restrict__ bytes_, const float* __restrict__ scales_, float* __restrict__ y_, const Params p) {
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
  const unsigned v9 = p.first_block_ + v8;
  const unsigned v10 = p.x_offset_ / 32u;
  for (unsigned i0 = (threadIdx.x % 32u); i0 < v1; i0 += 32u) {
    const unsigned v11 = i0 / 2u;
    const unsigned v12 = v9 + v11;
    const unsigned v13 = v12 * 34u;
    const unsigned v14 = v13 + 2u;
    const unsigned v15 = i0 % 2u;
    const unsigned v16 = v15 * 16u;
    const unsigned v17 = v14 + v16;
    const unsigned v18 = v17 >> 2u;
    const unsigned v19 = w_[v18];
    const unsigned v20 = v18 + 2u;
    const unsigned v21 = w_[v20];
    const unsigned v22 = v18 + 4u;
    const unsigned v23 = v17 & 2u;
    const bool v24 = v23 == 0u;
    const bool v25 = !v24;
    unsigned v26 = 0u;
    if (v25) { v26 = w_[v22]; }
    const unsigned v27 = v10 + v11;
    const float v28 = scales_[v27];
    const unsigned v29 = v18 + 3u;
    const unsigned v30 = w_[v29];
    const float v31 = a0;
    const unsigned v32 = v18 + 1u;
    const unsigned v33 = w_[v32];
    const unsigned v34 = v27 * 8u;
    const unsigned v35 = v15 * 4u;
    const unsigned v36 = v34 + v35;
    const uint4 v37 = *reinterpret_cast<const uint4*>(&bytes_[v36]);
    const unsigned v38 = v13 >> 2u;
    const unsigned v39 = w_[v38];
    const unsigned v40 = v30 >> 16u;
    const unsigned v41 = v26 << 16u;
    const unsigned v42 = v40 | v41;
    const unsigned v43 = v25 ? v42 : v30;
    const unsigned v44 = v21 >> 16u;
    const unsigned v45 = v30 << 16u;
    const unsigned v46 = v44 | v45;
    const unsigned v47 = v25 ? v46 : v21;
    const unsigned v48 = v33 >> 16u;
    const unsigned v49 = v21 << 16u;
    const unsigned v50 = v48 | v49;
    const unsigned v51 = v25 ? v50 : v33;
    const unsigned v52 = v19 >> 16u;
    const unsigned v53 = v33 << 16u;
    const unsigned v54 = v52 | v53;
    const unsigned v55 = v25 ? v54 : v19;
    const int v56 = wick_dot4(v55, v37.x, 0);
    const int v57 = wick_dot4(v51, v37.y, v56);
    const int v58 = wick_dot4(v47, v37.z, v57);
    const int v59 = wick_dot4(v43, v37.w, v58);
    const float v60 = (float)(v59);
    const unsigned v61 = v13 & 2u;
    const unsigned v62 = v61 * 8u;
    const unsigned v63 = v39 >> v62;
    const float v64 = (float)__builtin_bit_cast(_Float16, (unsigned short)v63);
    const float v65 = v64 * v28;
    const float v66 = v60 * v65;
    const float v67 = v31 + v66;
    a0 = v67;
  }
  const float v68 = a0;
  const float v69 = wick_subgroup_add(v68);
  const unsigned v70 = p.y_offset_ + v5;
  const bool v71 = (threadIdx.x % 32u) == 0u;
  const bool v72 = v5 < p.rows_;
  const bool v73 = v71 && v72;
  if (v73) { y_[v70] = v69; }
}
