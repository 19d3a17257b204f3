__device__ __forceinline__ int wick_dot4(unsigned a, unsigned b, int c) {
  for (int i = 0; i < 32; i += 8) c += (int)(signed char)(a >> i) * (int)(signed char)(b >> i);
  return c;
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
struct Params { unsigned blocks_; unsigned rows_; unsigned x_offset_; unsigned y_offset_; };
extern "C" __global__ void __launch_bounds__(128) wick_matvec_q8_0_s32(const unsigned* __restrict__ w_, const unsigned* __restrict__ bytes_, const float* __restrict__ scales_, float* __restrict__ y_, const Params p) {
  float a0 = 0x0p+0f;
  const unsigned v0 = p.blocks_ * 2u;
  const unsigned v1 = blockIdx.y * gridDim.x;
  const unsigned v2 = v1 + blockIdx.x;
  const unsigned v3 = v2 * 4u;
  const unsigned v4 = v3 + (threadIdx.x / 32u);
  const unsigned v5 = p.rows_ - 1u;
  const unsigned v6 = v4 < v5 ? v4 : v5;
  const unsigned v7 = v6 * p.blocks_;
  const unsigned v8 = p.x_offset_ / 32u;
  for (unsigned i0 = (threadIdx.x % 32u); i0 < v0; i0 += 32u) {
    const unsigned v9 = i0 / 2u;
    const unsigned v10 = v7 + v9;
    const unsigned v11 = v10 * 34u;
    const unsigned v12 = v11 >> 2u;
    const unsigned v13 = w_[v12];
    const unsigned v14 = v8 + v9;
    const float v15 = scales_[v14];
    const unsigned v16 = v11 + 2u;
    const unsigned v17 = i0 % 2u;
    const unsigned v18 = v17 * 16u;
    const unsigned v19 = v16 + v18;
    const unsigned v20 = v19 >> 2u;
    const unsigned v21 = v20 + 2u;
    const unsigned v22 = w_[v21];
    const float v23 = a0;
    const unsigned v24 = v14 * 8u;
    const unsigned v25 = v17 * 4u;
    const unsigned v26 = v24 + v25;
    const uint4 v27 = *reinterpret_cast<const uint4*>(&bytes_[v26]);
    const unsigned v28 = w_[v20];
    const unsigned v29 = v20 + 1u;
    const unsigned v30 = w_[v29];
    const unsigned v31 = v20 + 4u;
    const unsigned v32 = v19 & 2u;
    const bool v33 = v32 == 0u;
    const bool v34 = !v33;
    unsigned v35 = 0u;
    if (v34) { v35 = w_[v31]; }
    const unsigned v36 = v20 + 3u;
    const unsigned v37 = w_[v36];
    const unsigned v38 = v37 >> 16u;
    const unsigned v39 = v35 << 16u;
    const unsigned v40 = v38 | v39;
    const unsigned v41 = v34 ? v40 : v37;
    const unsigned v42 = v22 >> 16u;
    const unsigned v43 = v37 << 16u;
    const unsigned v44 = v42 | v43;
    const unsigned v45 = v34 ? v44 : v22;
    const unsigned v46 = v30 >> 16u;
    const unsigned v47 = v22 << 16u;
    const unsigned v48 = v46 | v47;
    const unsigned v49 = v34 ? v48 : v30;
    const unsigned v50 = v28 >> 16u;
    const unsigned v51 = v30 << 16u;
    const unsigned v52 = v50 | v51;
    const unsigned v53 = v34 ? v52 : v28;
    const int v54 = wick_dot4(v53, v27.x, 0);
    const int v55 = wick_dot4(v49, v27.y, v54);
    const int v56 = wick_dot4(v45, v27.z, v55);
    const int v57 = wick_dot4(v41, v27.w, v56);
    const float v58 = (float)(v57);
    const unsigned v59 = v11 & 2u;
    const unsigned v60 = v59 * 8u;
    const unsigned v61 = v13 >> v60;
    const float v62 = (float)__builtin_bit_cast(_Float16, (unsigned short)v61);
    const float v63 = v62 * v15;
    const float v64 = v58 * v63;
    const float v65 = v23 + v64;
    a0 = v65;
  }
  const float v66 = a0;
  const float v67 = wick_subgroup_add(v66);
  const unsigned v68 = p.y_offset_ + v4;
  const bool v69 = (threadIdx.x % 32u) == 0u;
  const bool v70 = v4 < p.rows_;
  const bool v71 = v69 && v70;
  if (v71) { y_[v68] = v67; }
}
