#if defined(WICK_WMMA11)
#define WICK_TILE_PLACES 16
#define WICK_TILE_SUMS 8
#define WICK_TILE_FIRST 0u
#define WICK_TILE_ROW (threadIdx.x / 16u % 2u)
#define WICK_TILE_STEP 2u
#define WICK_TILE_MULTIPLY(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c)
#elif defined(WICK_WMMA12)
#define WICK_TILE_PLACES 8
#define WICK_TILE_SUMS 8
#define WICK_TILE_FIRST (threadIdx.x / 16u % 2u * 8u)
#define WICK_TILE_ROW WICK_TILE_FIRST
#define WICK_TILE_STEP 1u
#define WICK_TILE_MULTIPLY(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c)
#elif defined(WICK_MFMA)
#define WICK_TILE_PLACES 4
#define WICK_TILE_SUMS 4
#define WICK_TILE_FIRST (threadIdx.x / 16u % 4u * 4u)
#define WICK_TILE_ROW WICK_TILE_FIRST
#define WICK_TILE_STEP 1u
#define WICK_TILE_MULTIPLY(a, b, c) __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, 0, 0, 0)
#endif
#ifdef WICK_TILE_PLACES
typedef _Float16 wick_tile_halves __attribute__((ext_vector_type(WICK_TILE_PLACES)));
typedef float wick_tile_sums __attribute__((ext_vector_type(WICK_TILE_SUMS)));
struct wick_tile_a { wick_tile_halves x; };
struct wick_tile_b { wick_tile_halves x; };
struct wick_tile_c { wick_tile_sums x; };
__device__ __forceinline__ void wick_tile_load(wick_tile_a& t, const _Float16* p, unsigned stride) {
  p += threadIdx.x % 16u * stride + WICK_TILE_FIRST;
  for (unsigned i = 0; i < WICK_TILE_PLACES; ++i) t.x[i] = p[i];
}
__device__ __forceinline__ void wick_tile_load(wick_tile_b& t, const _Float16* p, unsigned stride) {
  p += WICK_TILE_FIRST * stride + threadIdx.x % 16u;
  for (unsigned i = 0; i < WICK_TILE_PLACES; ++i) t.x[i] = p[i * stride];
}
__device__ __forceinline__ void wick_tile_load(wick_tile_c& t, const float* p, unsigned stride) {
  p += WICK_TILE_ROW * stride + threadIdx.x % 16u;
  for (unsigned i = 0; i < WICK_TILE_SUMS; ++i) t.x[i] = p[i * WICK_TILE_STEP * stride];
}
__device__ __forceinline__ void wick_tile_store(float* p, const wick_tile_c& t, unsigned stride) {
  p += WICK_TILE_ROW * stride + threadIdx.x % 16u;
  for (unsigned i = 0; i < WICK_TILE_SUMS; ++i) p[i * WICK_TILE_STEP * stride] = t.x[i];
}
__device__ __forceinline__ void wick_tile_multiply(wick_tile_c& c, const wick_tile_a& a, const wick_tile_b& b) {
  c.x = WICK_TILE_MULTIPLY(a.x, b.x, c.x);
}
#else
#define WICK_TILE_SUMS 256
struct wick_tile_a { _Float16 x[256]; };
struct wick_tile_b { _Float16 x[256]; };
struct wick_tile_c { float x[256]; };
template <class T, class U> __device__ __forceinline__ void wick_tile_load(T& t, const U* p, unsigned stride) {
  for (unsigned i = 0; i < 256; ++i) t.x[i] = p[i / 16 * stride + i % 16];
}
__device__ __forceinline__ void wick_tile_store(float* p, const wick_tile_c& t, unsigned stride) {
  for (unsigned i = 0; i < 256; ++i) p[i / 16 * stride + i % 16] = t.x[i];
}
__device__ __forceinline__ void wick_tile_multiply(wick_tile_c& c, const wick_tile_a& a, const wick_tile_b& b) {
  for (unsigned i = 0; i < 256; ++i) {
    for (unsigned k = 0; k < 16; ++k) c.x[i] += (float)a.x[i / 16 * 16 + k] * (float)b.x[k * 16 + i % 16];
  }
}
#endif
__device__ __forceinline__ void wick_tile_fill(wick_tile_c& t, float x) {
  for (unsigned i = 0; i < WICK_TILE_SUMS; ++i) t.x[i] = x;
}
__device__ __forceinline__ void wick_tile_scale(wick_tile_c& t, const wick_tile_c& f) {
  for (unsigned i = 0; i < WICK_TILE_SUMS; ++i) t.x[i] *= f.x[i];
}
#pragma clang fp contract(off)
struct Params { unsigned m_; unsigned n_; unsigned k_; unsigned a_offset_; unsigned a_row_stride_; unsigned a_column_stride_; unsigned a_outer_stride_; unsigned a_inner_stride_; unsigned b_offset_; unsigned b_row_stride_; unsigned b_column_stride_; unsigned b_outer_stride_; unsigned b_inner_stride_; unsigned c_offset_; unsigned batch_extent_; unsigned first_batch_; };
extern "C" __global__ void __launch_bounds__(128) wick_matmul_tiles_16x16x16_s32(const unsigned* __restrict__ a_, const unsigned* __restrict__ b_, _Float16* __restrict__ c_, const Params p) {
  alignas(16) __shared__ unsigned s0[5120];
  alignas(16) __shared__ unsigned s1[4352];
  alignas(16) __shared__ float s2[1024];
  wick_tile_a t0;
  wick_tile_a t1;
  wick_tile_a t2;
  wick_tile_a t3;
  wick_tile_b t4;
  wick_tile_b t5;
  wick_tile_b t6;
  wick_tile_b t7;
  wick_tile_c t8;
  wick_tile_c t9;
  wick_tile_c t10;
  wick_tile_c t11;
  wick_tile_c t12;
  wick_tile_c t13;
  wick_tile_c t14;
  wick_tile_c t15;
  wick_tile_c t16;
  wick_tile_c t17;
  wick_tile_c t18;
  wick_tile_c t19;
  wick_tile_c t20;
  wick_tile_c t21;
  wick_tile_c t22;
  wick_tile_c t23;
  wick_tile_fill(t8, 0x0p+0f);
  wick_tile_fill(t9, 0x0p+0f);
  wick_tile_fill(t10, 0x0p+0f);
  wick_tile_fill(t11, 0x0p+0f);
  wick_tile_fill(t12, 0x0p+0f);
  wick_tile_fill(t13, 0x0p+0f);
  wick_tile_fill(t14, 0x0p+0f);
  wick_tile_fill(t15, 0x0p+0f);
  wick_tile_fill(t16, 0x0p+0f);
  wick_tile_fill(t17, 0x0p+0f);
  wick_tile_fill(t18, 0x0p+0f);
  wick_tile_fill(t19, 0x0p+0f);
  wick_tile_fill(t20, 0x0p+0f);
  wick_tile_fill(t21, 0x0p+0f);
  wick_tile_fill(t22, 0x0p+0f);
  wick_tile_fill(t23, 0x0p+0f);
  const unsigned v0 = p.first_batch_ + blockIdx.z;
  const unsigned v1 = v0 / p.batch_extent_;
  const unsigned v2 = v1 * p.a_outer_stride_;
  const unsigned v3 = p.a_offset_ + v2;
  const unsigned v4 = v0 % p.batch_extent_;
  const unsigned v5 = v4 * p.a_inner_stride_;
  const unsigned v6 = v3 + v5;
  const unsigned v7 = v6 / 2u;
  const unsigned v8 = blockIdx.y * 128u;
  const unsigned v9 = threadIdx.x + 256u;
  const unsigned v10 = v9 * 4u;
  const unsigned v11 = v10 / 16u;
  const unsigned v12 = v8 + v11;
  const unsigned v13 = p.a_row_stride_ / 2u;
  const unsigned v14 = v12 * v13;
  const unsigned v15 = v7 + v14;
  const unsigned v16 = v10 % 16u;
  const unsigned v17 = v15 + v16;
  const bool v18 = v12 < p.m_;
  const unsigned v19 = p.k_ / 2u;
  const bool v20 = v16 < v19;
  const bool v21 = v18 && v20;
  uint4 v22 = uint4{0u, 0u, 0u, 0u};
  if (v21) { v22 = *reinterpret_cast<const uint4*>(&a_[v17]); }
  const unsigned v23 = threadIdx.x + 384u;
  const unsigned v24 = v23 * 4u;
  const unsigned v25 = v24 / 16u;
  const unsigned v26 = v8 + v25;
  const unsigned v27 = v26 * v13;
  const unsigned v28 = v7 + v27;
  const unsigned v29 = v24 % 16u;
  const unsigned v30 = v28 + v29;
  const bool v31 = v26 < p.m_;
  const bool v32 = v29 < v19;
  const bool v33 = v31 && v32;
  uint4 v34 = uint4{0u, 0u, 0u, 0u};
  if (v33) { v34 = *reinterpret_cast<const uint4*>(&a_[v30]); }
  const unsigned v35 = v1 * p.b_outer_stride_;
  const unsigned v36 = p.b_offset_ + v35;
  const unsigned v37 = v4 * p.b_inner_stride_;
  const unsigned v38 = v36 + v37;
  const unsigned v39 = v38 / 2u;
  const unsigned v40 = v10 / 64u;
  const unsigned v41 = p.b_row_stride_ / 2u;
  const unsigned v42 = v40 * v41;
  const unsigned v43 = v39 + v42;
  const unsigned v44 = blockIdx.x * 128u;
  const unsigned v45 = v44 / 2u;
  const unsigned v46 = v10 % 64u;
  const unsigned v47 = v45 + v46;
  const unsigned v48 = v43 + v47;
  const bool v49 = v40 < p.k_;
  const unsigned v50 = p.n_ / 2u;
  const bool v51 = v47 < v50;
  const bool v52 = v49 && v51;
  uint4 v53 = uint4{0u, 0u, 0u, 0u};
  if (v52) { v53 = *reinterpret_cast<const uint4*>(&b_[v48]); }
  const unsigned v54 = threadIdx.x * 4u;
  const unsigned v55 = v54 / 64u;
  const unsigned v56 = v55 * v41;
  const unsigned v57 = v39 + v56;
  const unsigned v58 = v54 % 64u;
  const unsigned v59 = v45 + v58;
  const unsigned v60 = v57 + v59;
  const bool v61 = v55 < p.k_;
  const bool v62 = v59 < v50;
  const bool v63 = v61 && v62;
  uint4 v64 = uint4{0u, 0u, 0u, 0u};
  if (v63) { v64 = *reinterpret_cast<const uint4*>(&b_[v60]); }
  const unsigned v65 = threadIdx.x + 128u;
  const unsigned v66 = v65 * 4u;
  const unsigned v67 = v66 / 64u;
  const unsigned v68 = v67 * v41;
  const unsigned v69 = v39 + v68;
  const unsigned v70 = v66 % 64u;
  const unsigned v71 = v45 + v70;
  const unsigned v72 = v69 + v71;
  const bool v73 = v67 < p.k_;
  const bool v74 = v71 < v50;
  const bool v75 = v73 && v74;
  uint4 v76 = uint4{0u, 0u, 0u, 0u};
  if (v75) { v76 = *reinterpret_cast<const uint4*>(&b_[v72]); }
  const unsigned v77 = v66 / 16u;
  const unsigned v78 = v8 + v77;
  const unsigned v79 = v78 * v13;
  const unsigned v80 = v7 + v79;
  const unsigned v81 = v66 % 16u;
  const unsigned v82 = v80 + v81;
  const bool v83 = v78 < p.m_;
  const bool v84 = v81 < v19;
  const bool v85 = v83 && v84;
  uint4 v86 = uint4{0u, 0u, 0u, 0u};
  if (v85) { v86 = *reinterpret_cast<const uint4*>(&a_[v82]); }
  const unsigned v87 = v24 / 64u;
  const unsigned v88 = v87 * v41;
  const unsigned v89 = v39 + v88;
  const unsigned v90 = v24 % 64u;
  const unsigned v91 = v45 + v90;
  const unsigned v92 = v89 + v91;
  const bool v93 = v87 < p.k_;
  const bool v94 = v91 < v50;
  const bool v95 = v93 && v94;
  uint4 v96 = uint4{0u, 0u, 0u, 0u};
  if (v95) { v96 = *reinterpret_cast<const uint4*>(&b_[v92]); }
  const unsigned v97 = v54 / 16u;
  const unsigned v98 = v8 + v97;
  const unsigned v99 = v98 * v13;
  const unsigned v100 = v7 + v99;
  const unsigned v101 = v54 % 16u;
  const unsigned v102 = v100 + v101;
  const bool v103 = v98 < p.m_;
  const bool v104 = v101 < v19;
  const bool v105 = v103 && v104;
  uint4 v106 = uint4{0u, 0u, 0u, 0u};
  if (v105) { v106 = *reinterpret_cast<const uint4*>(&a_[v102]); }
  const unsigned v107 = v97 * 20u;
  const unsigned v108 = v107 + v101;
  *reinterpret_cast<uint4*>(&s0[v108]) = uint4{v106.x, v106.y, v106.z, v106.w};
  const unsigned v109 = v77 * 20u;
  const unsigned v110 = v109 + v81;
  *reinterpret_cast<uint4*>(&s0[v110]) = uint4{v86.x, v86.y, v86.z, v86.w};
  const unsigned v111 = v11 * 20u;
  const unsigned v112 = v111 + v16;
  *reinterpret_cast<uint4*>(&s0[v112]) = uint4{v22.x, v22.y, v22.z, v22.w};
  const unsigned v113 = v25 * 20u;
  const unsigned v114 = v113 + v29;
  *reinterpret_cast<uint4*>(&s0[v114]) = uint4{v34.x, v34.y, v34.z, v34.w};
  const unsigned v115 = v55 * 68u;
  const unsigned v116 = v115 + v58;
  *reinterpret_cast<uint4*>(&s1[v116]) = uint4{v64.x, v64.y, v64.z, v64.w};
  const unsigned v117 = v67 * 68u;
  const unsigned v118 = v117 + v70;
  *reinterpret_cast<uint4*>(&s1[v118]) = uint4{v76.x, v76.y, v76.z, v76.w};
  const unsigned v119 = v40 * 68u;
  const unsigned v120 = v119 + v46;
  *reinterpret_cast<uint4*>(&s1[v120]) = uint4{v53.x, v53.y, v53.z, v53.w};
  const unsigned v121 = v87 * 68u;
  const unsigned v122 = v121 + v90;
  *reinterpret_cast<uint4*>(&s1[v122]) = uint4{v96.x, v96.y, v96.z, v96.w};
  __syncthreads();
  const unsigned v123 = (threadIdx.x / 32u) / 2u;
  const unsigned v124 = v123 * 64u;
  const unsigned v125 = v124 * 20u;
  const unsigned v126 = v124 + 16u;
  const unsigned v127 = v126 * 20u;
  const unsigned v128 = v124 + 32u;
  const unsigned v129 = v128 * 20u;
  const unsigned v130 = v124 + 48u;
  const unsigned v131 = v130 * 20u;
  const unsigned v132 = (threadIdx.x / 32u) % 2u;
  const unsigned v133 = v132 * 64u;
  const unsigned v134 = v133 / 2u;
  const unsigned v135 = v133 + 16u;
  const unsigned v136 = v135 / 2u;
  const unsigned v137 = v133 + 32u;
  const unsigned v138 = v137 / 2u;
  const unsigned v139 = v133 + 48u;
  const unsigned v140 = v139 / 2u;
  for (unsigned i0 = 0u; i0 < p.k_; i0 += 32u) {
    const unsigned v141 = i0 + 32u;
    const unsigned v142 = v141 + v55;
    const unsigned v143 = v142 * v41;
    const unsigned v144 = v39 + v143;
    const unsigned v145 = v144 + v59;
    const bool v146 = v142 < p.k_;
    const bool v147 = v146 && v62;
    uint4 v148 = uint4{0u, 0u, 0u, 0u};
    if (v147) { v148 = *reinterpret_cast<const uint4*>(&b_[v145]); }
    const unsigned v149 = v141 + v87;
    const unsigned v150 = v149 * v41;
    const unsigned v151 = v39 + v150;
    const unsigned v152 = v151 + v91;
    const bool v153 = v149 < p.k_;
    const bool v154 = v153 && v94;
    uint4 v155 = uint4{0u, 0u, 0u, 0u};
    if (v154) { v155 = *reinterpret_cast<const uint4*>(&b_[v152]); }
    const unsigned v156 = v141 + v40;
    const unsigned v157 = v156 * v41;
    const unsigned v158 = v39 + v157;
    const unsigned v159 = v158 + v47;
    const bool v160 = v156 < p.k_;
    const bool v161 = v160 && v51;
    uint4 v162 = uint4{0u, 0u, 0u, 0u};
    if (v161) { v162 = *reinterpret_cast<const uint4*>(&b_[v159]); }
    const unsigned v163 = v141 / 2u;
    const unsigned v164 = v163 + v29;
    const unsigned v165 = v28 + v164;
    const bool v166 = v164 < v19;
    const bool v167 = v31 && v166;
    uint4 v168 = uint4{0u, 0u, 0u, 0u};
    if (v167) { v168 = *reinterpret_cast<const uint4*>(&a_[v165]); }
    const unsigned v169 = v141 + v67;
    const unsigned v170 = v169 * v41;
    const unsigned v171 = v39 + v170;
    const unsigned v172 = v171 + v71;
    const bool v173 = v169 < p.k_;
    const bool v174 = v173 && v74;
    uint4 v175 = uint4{0u, 0u, 0u, 0u};
    if (v174) { v175 = *reinterpret_cast<const uint4*>(&b_[v172]); }
    const unsigned v176 = v163 + v101;
    const unsigned v177 = v100 + v176;
    const bool v178 = v176 < v19;
    const bool v179 = v103 && v178;
    uint4 v180 = uint4{0u, 0u, 0u, 0u};
    if (v179) { v180 = *reinterpret_cast<const uint4*>(&a_[v177]); }
    const unsigned v181 = v163 + v16;
    const unsigned v182 = v15 + v181;
    const bool v183 = v181 < v19;
    const bool v184 = v18 && v183;
    uint4 v185 = uint4{0u, 0u, 0u, 0u};
    if (v184) { v185 = *reinterpret_cast<const uint4*>(&a_[v182]); }
    const unsigned v186 = v163 + v81;
    const unsigned v187 = v80 + v186;
    const bool v188 = v186 < v19;
    const bool v189 = v83 && v188;
    uint4 v190 = uint4{0u, 0u, 0u, 0u};
    if (v189) { v190 = *reinterpret_cast<const uint4*>(&a_[v187]); }
    const unsigned v191 = i0 / 32u;
    const unsigned v192 = v191 % 2u;
    const unsigned v193 = v192 * 2560u;
    const unsigned v194 = v193 + v125;
    wick_tile_load(t0, reinterpret_cast<const _Float16*>(&s0[v194]), 2u * 20u);
    const unsigned v195 = v193 + v127;
    wick_tile_load(t1, reinterpret_cast<const _Float16*>(&s0[v195]), 2u * 20u);
    const unsigned v196 = v193 + v129;
    wick_tile_load(t2, reinterpret_cast<const _Float16*>(&s0[v196]), 2u * 20u);
    const unsigned v197 = v193 + v131;
    wick_tile_load(t3, reinterpret_cast<const _Float16*>(&s0[v197]), 2u * 20u);
    const unsigned v198 = v192 * 2176u;
    const unsigned v199 = v198 + v134;
    wick_tile_load(t4, reinterpret_cast<const _Float16*>(&s1[v199]), 2u * 68u);
    const unsigned v200 = v198 + v136;
    wick_tile_load(t5, reinterpret_cast<const _Float16*>(&s1[v200]), 2u * 68u);
    const unsigned v201 = v198 + v138;
    wick_tile_load(t6, reinterpret_cast<const _Float16*>(&s1[v201]), 2u * 68u);
    const unsigned v202 = v198 + v140;
    wick_tile_load(t7, reinterpret_cast<const _Float16*>(&s1[v202]), 2u * 68u);
    wick_tile_multiply(t8, t0, t4);
    wick_tile_multiply(t9, t0, t5);
    wick_tile_multiply(t10, t0, t6);
    wick_tile_multiply(t11, t0, t7);
    wick_tile_multiply(t12, t1, t4);
    wick_tile_multiply(t13, t1, t5);
    wick_tile_multiply(t14, t1, t6);
    wick_tile_multiply(t15, t1, t7);
    wick_tile_multiply(t16, t2, t4);
    wick_tile_multiply(t17, t2, t5);
    wick_tile_multiply(t18, t2, t6);
    wick_tile_multiply(t19, t2, t7);
    wick_tile_multiply(t20, t3, t4);
    wick_tile_multiply(t21, t3, t5);
    wick_tile_multiply(t22, t3, t6);
    wick_tile_multiply(t23, t3, t7);
    const unsigned v203 = v194 + 8u;
    wick_tile_load(t0, reinterpret_cast<const _Float16*>(&s0[v203]), 2u * 20u);
    const unsigned v204 = v195 + 8u;
    wick_tile_load(t1, reinterpret_cast<const _Float16*>(&s0[v204]), 2u * 20u);
    const unsigned v205 = v196 + 8u;
    wick_tile_load(t2, reinterpret_cast<const _Float16*>(&s0[v205]), 2u * 20u);
    const unsigned v206 = v197 + 8u;
    wick_tile_load(t3, reinterpret_cast<const _Float16*>(&s0[v206]), 2u * 20u);
    const unsigned v207 = v198 + 1088u;
    const unsigned v208 = v207 + v134;
    wick_tile_load(t4, reinterpret_cast<const _Float16*>(&s1[v208]), 2u * 68u);
    const unsigned v209 = v207 + v136;
    wick_tile_load(t5, reinterpret_cast<const _Float16*>(&s1[v209]), 2u * 68u);
    const unsigned v210 = v207 + v138;
    wick_tile_load(t6, reinterpret_cast<const _Float16*>(&s1[v210]), 2u * 68u);
    const unsigned v211 = v207 + v140;
    wick_tile_load(t7, reinterpret_cast<const _Float16*>(&s1[v211]), 2u * 68u);
    wick_tile_multiply(t8, t0, t4);
    wick_tile_multiply(t9, t0, t5);
    wick_tile_multiply(t10, t0, t6);
    wick_tile_multiply(t11, t0, t7);
    wick_tile_multiply(t12, t1, t4);
    wick_tile_multiply(t13, t1, t5);
    wick_tile_multiply(t14, t1, t6);
    wick_tile_multiply(t15, t1, t7);
    wick_tile_multiply(t16, t2, t4);
    wick_tile_multiply(t17, t2, t5);
    wick_tile_multiply(t18, t2, t6);
    wick_tile_multiply(t19, t2, t7);
    wick_tile_multiply(t20, t3, t4);
    wick_tile_multiply(t21, t3, t5);
    wick_tile_multiply(t22, t3, t6);
    wick_tile_multiply(t23, t3, t7);
    const unsigned v212 = 1u - v192;
    const unsigned v213 = v212 * 2560u;
    const unsigned v214 = v213 + v107;
    const unsigned v215 = v214 + v101;
    *reinterpret_cast<uint4*>(&s0[v215]) = uint4{v180.x, v180.y, v180.z, v180.w};
    const unsigned v216 = v213 + v109;
    const unsigned v217 = v216 + v81;
    *reinterpret_cast<uint4*>(&s0[v217]) = uint4{v190.x, v190.y, v190.z, v190.w};
    const unsigned v218 = v213 + v111;
    const unsigned v219 = v218 + v16;
    *reinterpret_cast<uint4*>(&s0[v219]) = uint4{v185.x, v185.y, v185.z, v185.w};
    const unsigned v220 = v213 + v113;
    const unsigned v221 = v220 + v29;
    *reinterpret_cast<uint4*>(&s0[v221]) = uint4{v168.x, v168.y, v168.z, v168.w};
    const unsigned v222 = v212 * 2176u;
    const unsigned v223 = v222 + v115;
    const unsigned v224 = v223 + v58;
    *reinterpret_cast<uint4*>(&s1[v224]) = uint4{v148.x, v148.y, v148.z, v148.w};
    const unsigned v225 = v222 + v117;
    const unsigned v226 = v225 + v70;
    *reinterpret_cast<uint4*>(&s1[v226]) = uint4{v175.x, v175.y, v175.z, v175.w};
    const unsigned v227 = v222 + v119;
    const unsigned v228 = v227 + v46;
    *reinterpret_cast<uint4*>(&s1[v228]) = uint4{v162.x, v162.y, v162.z, v162.w};
    const unsigned v229 = v222 + v121;
    const unsigned v230 = v229 + v90;
    *reinterpret_cast<uint4*>(&s1[v230]) = uint4{v155.x, v155.y, v155.z, v155.w};
    __syncthreads();
  }
  const unsigned v231 = (threadIdx.x / 32u) * 256u;
  wick_tile_store(&s2[v231], t8, 16u);
  __syncthreads();
  const unsigned v232 = (threadIdx.x % 32u) / 16u;
  const unsigned v233 = v232 * 16u;
  const unsigned v234 = v231 + v233;
  const unsigned v235 = (threadIdx.x % 32u) % 16u;
  const unsigned v236 = v234 + v235;
  const float v237 = s2[v236];
  const unsigned v238 = p.m_ * p.n_;
  const unsigned v239 = v0 * v238;
  const unsigned v240 = p.c_offset_ + v239;
  const unsigned v241 = v124 + v232;
  const unsigned v242 = v8 + v241;
  const unsigned v243 = v242 * p.n_;
  const unsigned v244 = v240 + v243;
  const unsigned v245 = v133 + v235;
  const unsigned v246 = v44 + v245;
  const unsigned v247 = v244 + v246;
  const _Float16 v248 = (_Float16)(v237);
  const bool v249 = v242 < p.m_;
  const bool v250 = v246 < p.n_;
  const bool v251 = v249 && v250;
  if (v251) { c_[v247] = v248; }
  const unsigned v252 = (threadIdx.x % 32u) + 32u;
  const unsigned v253 = v252 / 16u;
  const unsigned v254 = v253 * 16u;
  const unsigned v255 = v231 + v254;
  const unsigned v256 = v252 % 16u;
  const unsigned v257 = v255 + v256;
  const float v258 = s2[v257];
  const unsigned v259 = v124 + v253;
  const unsigned v260 = v8 + v259;
  const unsigned v261 = v260 * p.n_;
  const unsigned v262 = v240 + v261;
  const unsigned v263 = v133 + v256;
  const unsigned v264 = v44 + v263;
  const unsigned v265 = v262 + v264;
  const _Float16 v266 = (_Float16)(v258);
  const bool v267 = v260 < p.m_;
  const bool v268 = v264 < p.n_;
  const bool v269 = v267 && v268;
  if (v269) { c_[v265] = v266; }
  const unsigned v270 = (threadIdx.x % 32u) + 64u;
  const unsigned v271 = v270 / 16u;
  const unsigned v272 = v271 * 16u;
  const unsigned v273 = v231 + v272;
  const unsigned v274 = v270 % 16u;
  const unsigned v275 = v273 + v274;
  const float v276 = s2[v275];
  const unsigned v277 = v124 + v271;
  const unsigned v278 = v8 + v277;
  const unsigned v279 = v278 * p.n_;
  const unsigned v280 = v240 + v279;
  const unsigned v281 = v133 + v274;
  const unsigned v282 = v44 + v281;
  const unsigned v283 = v280 + v282;
  const _Float16 v284 = (_Float16)(v276);
  const bool v285 = v278 < p.m_;
  const bool v286 = v282 < p.n_;
  const bool v287 = v285 && v286;
  if (v287) { c_[v283] = v284; }
  const unsigned v288 = (threadIdx.x % 32u) + 96u;
  const unsigned v289 = v288 / 16u;
  const unsigned v290 = v289 * 16u;
  const unsigned v291 = v231 + v290;
  const unsigned v292 = v288 % 16u;
  const unsigned v293 = v291 + v292;
  const float v294 = s2[v293];
  const unsigned v295 = v124 + v289;
  const unsigned v296 = v8 + v295;
  const unsigned v297 = v296 * p.n_;
  const unsigned v298 = v240 + v297;
  const unsigned v299 = v133 + v292;
  const unsigned v300 = v44 + v299;
  const unsigned v301 = v298 + v300;
  const _Float16 v302 = (_Float16)(v294);
  const bool v303 = v296 < p.m_;
  const bool v304 = v300 < p.n_;
  const bool v305 = v303 && v304;
  if (v305) { c_[v301] = v302; }
  const unsigned v306 = (threadIdx.x % 32u) + 128u;
  const unsigned v307 = v306 / 16u;
  const unsigned v308 = v307 * 16u;
  const unsigned v309 = v231 + v308;
  const unsigned v310 = v306 % 16u;
  const unsigned v311 = v309 + v310;
  const float v312 = s2[v311];
  const unsigned v313 = v124 + v307;
  const unsigned v314 = v8 + v313;
  const unsigned v315 = v314 * p.n_;
  const unsigned v316 = v240 + v315;
  const unsigned v317 = v133 + v310;
  const unsigned v318 = v44 + v317;
  const unsigned v319 = v316 + v318;
  const _Float16 v320 = (_Float16)(v312);
  const bool v321 = v314 < p.m_;
  const bool v322 = v318 < p.n_;
  const bool v323 = v321 && v322;
  if (v323) { c_[v319] = v320; }
  const unsigned v324 = (threadIdx.x % 32u) + 160u;
  const unsigned v325 = v324 / 16u;
  const unsigned v326 = v325 * 16u;
  const unsigned v327 = v231 + v326;
  const unsigned v328 = v324 % 16u;
  const unsigned v329 = v327 + v328;
  const float v330 = s2[v329];
  const unsigned v331 = v124 + v325;
  const unsigned v332 = v8 + v331;
  const unsigned v333 = v332 * p.n_;
  const unsigned v334 = v240 + v333;
  const unsigned v335 = v133 + v328;
  const unsigned v336 = v44 + v335;
  const unsigned v337 = v334 + v336;
  const _Float16 v338 = (_Float16)(v330);
  const bool v339 = v332 < p.m_;
  const bool v340 = v336 < p.n_;
  const bool v341 = v339 && v340;
  if (v341) { c_[v337] = v338; }
  const unsigned v342 = (threadIdx.x % 32u) + 192u;
  const unsigned v343 = v342 / 16u;
  const unsigned v344 = v343 * 16u;
  const unsigned v345 = v231 + v344;
  const unsigned v346 = v342 % 16u;
  const unsigned v347 = v345 + v346;
  const float v348 = s2[v347];
  const unsigned v349 = v124 + v343;
  const unsigned v350 = v8 + v349;
  const unsigned v351 = v350 * p.n_;
  const unsigned v352 = v240 + v351;
  const unsigned v353 = v133 + v346;
  const unsigned v354 = v44 + v353;
  const unsigned v355 = v352 + v354;
  const _Float16 v356 = (_Float16)(v348);
  const bool v357 = v350 < p.m_;
  const bool v358 = v354 < p.n_;
  const bool v359 = v357 && v358;
  if (v359) { c_[v355] = v356; }
  const unsigned v360 = (threadIdx.x % 32u) + 224u;
  const unsigned v361 = v360 / 16u;
  const unsigned v362 = v361 * 16u;
  const unsigned v363 = v231 + v362;
  const unsigned v364 = v360 % 16u;
  const unsigned v365 = v363 + v364;
  const float v366 = s2[v365];
  const unsigned v367 = v124 + v361;
  const unsigned v368 = v8 + v367;
  const unsigned v369 = v368 * p.n_;
  const unsigned v370 = v240 + v369;
  const unsigned v371 = v133 + v364;
  const unsigned v372 = v44 + v371;
  const unsigned v373 = v370 + v372;
  const _Float16 v374 = (_Float16)(v366);
  const bool v375 = v368 < p.m_;
  const bool v376 = v372 < p.n_;
  const bool v377 = v375 && v376;
  if (v377) { c_[v373] = v374; }
  __syncthreads();
  wick_tile_store(&s2[v231], t9, 16u);
  __syncthreads();
  const float v378 = s2[v236];
  const unsigned v379 = v135 + v235;
  const unsigned v380 = v44 + v379;
  const unsigned v381 = v244 + v380;
  const _Float16 v382 = (_Float16)(v378);
  const bool v383 = v380 < p.n_;
  const bool v384 = v249 && v383;
  if (v384) { c_[v381] = v382; }
  const float v385 = s2[v257];
  const unsigned v386 = v135 + v256;
  const unsigned v387 = v44 + v386;
  const unsigned v388 = v262 + v387;
  const _Float16 v389 = (_Float16)(v385);
  const bool v390 = v387 < p.n_;
  const bool v391 = v267 && v390;
  if (v391) { c_[v388] = v389; }
  const float v392 = s2[v275];
  const unsigned v393 = v135 + v274;
  const unsigned v394 = v44 + v393;
  const unsigned v395 = v280 + v394;
  const _Float16 v396 = (_Float16)(v392);
  const bool v397 = v394 < p.n_;
  const bool v398 = v285 && v397;
  if (v398) { c_[v395] = v396; }
  const float v399 = s2[v293];
  const unsigned v400 = v135 + v292;
  const unsigned v401 = v44 + v400;
  const unsigned v402 = v298 + v401;
  const _Float16 v403 = (_Float16)(v399);
  const bool v404 = v401 < p.n_;
  const bool v405 = v303 && v404;
  if (v405) { c_[v402] = v403; }
  const float v406 = s2[v311];
  const unsigned v407 = v135 + v310;
  const unsigned v408 = v44 + v407;
  const unsigned v409 = v316 + v408;
  const _Float16 v410 = (_Float16)(v406);
  const bool v411 = v408 < p.n_;
  const bool v412 = v321 && v411;
  if (v412) { c_[v409] = v410; }
  const float v413 = s2[v329];
  const unsigned v414 = v135 + v328;
  const unsigned v415 = v44 + v414;
  const unsigned v416 = v334 + v415;
  const _Float16 v417 = (_Float16)(v413);
  const bool v418 = v415 < p.n_;
  const bool v419 = v339 && v418;
  if (v419) { c_[v416] = v417; }
  const float v420 = s2[v347];
  const unsigned v421 = v135 + v346;
  const unsigned v422 = v44 + v421;
  const unsigned v423 = v352 + v422;
  const _Float16 v424 = (_Float16)(v420);
  const bool v425 = v422 < p.n_;
  const bool v426 = v357 && v425;
  if (v426) { c_[v423] = v424; }
  const float v427 = s2[v365];
  const unsigned v428 = v135 + v364;
  const unsigned v429 = v44 + v428;
  const unsigned v430 = v370 + v429;
  const _Float16 v431 = (_Float16)(v427);
  const bool v432 = v429 < p.n_;
  const bool v433 = v375 && v432;
  if (v433) { c_[v430] = v431; }
  __syncthreads();
  wick_tile_store(&s2[v231], t10, 16u);
  __syncthreads();
  const float v434 = s2[v236];
  const unsigned v435 = v137 + v235;
  const unsigned v436 = v44 + v435;
  const unsigned v437 = v244 + v436;
  const _Float16 v438 = (_Float16)(v434);
  const bool v439 = v436 < p.n_;
  const bool v440 = v249 && v439;
  if (v440) { c_[v437] = v438; }
  const float v441 = s2[v257];
  const unsigned v442 = v137 + v256;
  const unsigned v443 = v44 + v442;
  const unsigned v444 = v262 + v443;
  const _Float16 v445 = (_Float16)(v441);
  const bool v446 = v443 < p.n_;
  const bool v447 = v267 && v446;
  if (v447) { c_[v444] = v445; }
  const float v448 = s2[v275];
  const unsigned v449 = v137 + v274;
  const unsigned v450 = v44 + v449;
  const unsigned v451 = v280 + v450;
  const _Float16 v452 = (_Float16)(v448);
  const bool v453 = v450 < p.n_;
  const bool v454 = v285 && v453;
  if (v454) { c_[v451] = v452; }
  const float v455 = s2[v293];
  const unsigned v456 = v137 + v292;
  const unsigned v457 = v44 + v456;
  const unsigned v458 = v298 + v457;
  const _Float16 v459 = (_Float16)(v455);
  const bool v460 = v457 < p.n_;
  const bool v461 = v303 && v460;
  if (v461) { c_[v458] = v459; }
  const float v462 = s2[v311];
  const unsigned v463 = v137 + v310;
  const unsigned v464 = v44 + v463;
  const unsigned v465 = v316 + v464;
  const _Float16 v466 = (_Float16)(v462);
  const bool v467 = v464 < p.n_;
  const bool v468 = v321 && v467;
  if (v468) { c_[v465] = v466; }
  const float v469 = s2[v329];
  const unsigned v470 = v137 + v328;
  const unsigned v471 = v44 + v470;
  const unsigned v472 = v334 + v471;
  const _Float16 v473 = (_Float16)(v469);
  const bool v474 = v471 < p.n_;
  const bool v475 = v339 && v474;
  if (v475) { c_[v472] = v473; }
  const float v476 = s2[v347];
  const unsigned v477 = v137 + v346;
  const unsigned v478 = v44 + v477;
  const unsigned v479 = v352 + v478;
  const _Float16 v480 = (_Float16)(v476);
  const bool v481 = v478 < p.n_;
  const bool v482 = v357 && v481;
  if (v482) { c_[v479] = v480; }
  const float v483 = s2[v365];
  const unsigned v484 = v137 + v364;
  const unsigned v485 = v44 + v484;
  const unsigned v486 = v370 + v485;
  const _Float16 v487 = (_Float16)(v483);
  const bool v488 = v485 < p.n_;
  const bool v489 = v375 && v488;
  if (v489) { c_[v486] = v487; }
  __syncthreads();
  wick_tile_store(&s2[v231], t11, 16u);
  __syncthreads();
  const float v490 = s2[v236];
  const unsigned v491 = v139 + v235;
  const unsigned v492 = v44 + v491;
  const unsigned v493 = v244 + v492;
  const _Float16 v494 = (_Float16)(v490);
  const bool v495 = v492 < p.n_;
  const bool v496 = v249 && v495;
  if (v496) { c_[v493] = v494; }
  const float v497 = s2[v257];
  const unsigned v498 = v139 + v256;
  const unsigned v499 = v44 + v498;
  const unsigned v500 = v262 + v499;
  const _Float16 v501 = (_Float16)(v497);
  const bool v502 = v499 < p.n_;
  const bool v503 = v267 && v502;
  if (v503) { c_[v500] = v501; }
  const float v504 = s2[v275];
  const unsigned v505 = v139 + v274;
  const unsigned v506 = v44 + v505;
  const unsigned v507 = v280 + v506;
  const _Float16 v508 = (_Float16)(v504);
  const bool v509 = v506 < p.n_;
  const bool v510 = v285 && v509;
  if (v510) { c_[v507] = v508; }
  const float v511 = s2[v293];
  const unsigned v512 = v139 + v292;
  const unsigned v513 = v44 + v512;
  const unsigned v514 = v298 + v513;
  const _Float16 v515 = (_Float16)(v511);
  const bool v516 = v513 < p.n_;
  const bool v517 = v303 && v516;
  if (v517) { c_[v514] = v515; }
  const float v518 = s2[v311];
  const unsigned v519 = v139 + v310;
  const unsigned v520 = v44 + v519;
  const unsigned v521 = v316 + v520;
  const _Float16 v522 = (_Float16)(v518);
  const bool v523 = v520 < p.n_;
  const bool v524 = v321 && v523;
  if (v524) { c_[v521] = v522; }
  const float v525 = s2[v329];
  const unsigned v526 = v139 + v328;
  const unsigned v527 = v44 + v526;
  const unsigned v528 = v334 + v527;
  const _Float16 v529 = (_Float16)(v525);
  const bool v530 = v527 < p.n_;
  const bool v531 = v339 && v530;
  if (v531) { c_[v528] = v529; }
  const float v532 = s2[v347];
  const unsigned v533 = v139 + v346;
  const unsigned v534 = v44 + v533;
  const unsigned v535 = v352 + v534;
  const _Float16 v536 = (_Float16)(v532);
  const bool v537 = v534 < p.n_;
  const bool v538 = v357 && v537;
  if (v538) { c_[v535] = v536; }
  const float v539 = s2[v365];
  const unsigned v540 = v139 + v364;
  const unsigned v541 = v44 + v540;
  const unsigned v542 = v370 + v541;
  const _Float16 v543 = (_Float16)(v539);
  const bool v544 = v541 < p.n_;
  const bool v545 = v375 && v544;
  if (v545) { c_[v542] = v543; }
  __syncthreads();
  wick_tile_store(&s2[v231], t12, 16u);
  __syncthreads();
  const float v546 = s2[v236];
  const unsigned v547 = v126 + v232;
  const unsigned v548 = v8 + v547;
  const unsigned v549 = v548 * p.n_;
  const unsigned v550 = v240 + v549;
  const unsigned v551 = v550 + v246;
  const _Float16 v552 = (_Float16)(v546);
  const bool v553 = v548 < p.m_;
  const bool v554 = v553 && v250;
  if (v554) { c_[v551] = v552; }
  const float v555 = s2[v257];
  const unsigned v556 = v126 + v253;
  const unsigned v557 = v8 + v556;
  const unsigned v558 = v557 * p.n_;
  const unsigned v559 = v240 + v558;
  const unsigned v560 = v559 + v264;
  const _Float16 v561 = (_Float16)(v555);
  const bool v562 = v557 < p.m_;
  const bool v563 = v562 && v268;
  if (v563) { c_[v560] = v561; }
  const float v564 = s2[v275];
  const unsigned v565 = v126 + v271;
  const unsigned v566 = v8 + v565;
  const unsigned v567 = v566 * p.n_;
  const unsigned v568 = v240 + v567;
  const unsigned v569 = v568 + v282;
  const _Float16 v570 = (_Float16)(v564);
  const bool v571 = v566 < p.m_;
  const bool v572 = v571 && v286;
  if (v572) { c_[v569] = v570; }
  const float v573 = s2[v293];
  const unsigned v574 = v126 + v289;
  const unsigned v575 = v8 + v574;
  const unsigned v576 = v575 * p.n_;
  const unsigned v577 = v240 + v576;
  const unsigned v578 = v577 + v300;
  const _Float16 v579 = (_Float16)(v573);
  const bool v580 = v575 < p.m_;
  const bool v581 = v580 && v304;
  if (v581) { c_[v578] = v579; }
  const float v582 = s2[v311];
  const unsigned v583 = v126 + v307;
  const unsigned v584 = v8 + v583;
  const unsigned v585 = v584 * p.n_;
  const unsigned v586 = v240 + v585;
  const unsigned v587 = v586 + v318;
  const _Float16 v588 = (_Float16)(v582);
  const bool v589 = v584 < p.m_;
  const bool v590 = v589 && v322;
  if (v590) { c_[v587] = v588; }
  const float v591 = s2[v329];
  const unsigned v592 = v126 + v325;
  const unsigned v593 = v8 + v592;
  const unsigned v594 = v593 * p.n_;
  const unsigned v595 = v240 + v594;
  const unsigned v596 = v595 + v336;
  const _Float16 v597 = (_Float16)(v591);
  const bool v598 = v593 < p.m_;
  const bool v599 = v598 && v340;
  if (v599) { c_[v596] = v597; }
  const float v600 = s2[v347];
  const unsigned v601 = v126 + v343;
  const unsigned v602 = v8 + v601;
  const unsigned v603 = v602 * p.n_;
  const unsigned v604 = v240 + v603;
  const unsigned v605 = v604 + v354;
  const _Float16 v606 = (_Float16)(v600);
  const bool v607 = v602 < p.m_;
  const bool v608 = v607 && v358;
  if (v608) { c_[v605] = v606; }
  const float v609 = s2[v365];
  const unsigned v610 = v126 + v361;
  const unsigned v611 = v8 + v610;
  const unsigned v612 = v611 * p.n_;
  const unsigned v613 = v240 + v612;
  const unsigned v614 = v613 + v372;
  const _Float16 v615 = (_Float16)(v609);
  const bool v616 = v611 < p.m_;
  const bool v617 = v616 && v376;
  if (v617) { c_[v614] = v615; }
  __syncthreads();
  wick_tile_store(&s2[v231], t13, 16u);
  __syncthreads();
  const float v618 = s2[v236];
  const unsigned v619 = v550 + v380;
  const _Float16 v620 = (_Float16)(v618);
  const bool v621 = v553 && v383;
  if (v621) { c_[v619] = v620; }
  const float v622 = s2[v257];
  const unsigned v623 = v559 + v387;
  const _Float16 v624 = (_Float16)(v622);
  const bool v625 = v562 && v390;
  if (v625) { c_[v623] = v624; }
  const float v626 = s2[v275];
  const unsigned v627 = v568 + v394;
  const _Float16 v628 = (_Float16)(v626);
  const bool v629 = v571 && v397;
  if (v629) { c_[v627] = v628; }
  const float v630 = s2[v293];
  const unsigned v631 = v577 + v401;
  const _Float16 v632 = (_Float16)(v630);
  const bool v633 = v580 && v404;
  if (v633) { c_[v631] = v632; }
  const float v634 = s2[v311];
  const unsigned v635 = v586 + v408;
  const _Float16 v636 = (_Float16)(v634);
  const bool v637 = v589 && v411;
  if (v637) { c_[v635] = v636; }
  const float v638 = s2[v329];
  const unsigned v639 = v595 + v415;
  const _Float16 v640 = (_Float16)(v638);
  const bool v641 = v598 && v418;
  if (v641) { c_[v639] = v640; }
  const float v642 = s2[v347];
  const unsigned v643 = v604 + v422;
  const _Float16 v644 = (_Float16)(v642);
  const bool v645 = v607 && v425;
  if (v645) { c_[v643] = v644; }
  const float v646 = s2[v365];
  const unsigned v647 = v613 + v429;
  const _Float16 v648 = (_Float16)(v646);
  const bool v649 = v616 && v432;
  if (v649) { c_[v647] = v648; }
  __syncthreads();
  wick_tile_store(&s2[v231], t14, 16u);
  __syncthreads();
  const float v650 = s2[v236];
  const unsigned v651 = v550 + v436;
  const _Float16 v652 = (_Float16)(v650);
  const bool v653 = v553 && v439;
  if (v653) { c_[v651] = v652; }
  const float v654 = s2[v257];
  const unsigned v655 = v559 + v443;
  const _Float16 v656 = (_Float16)(v654);
  const bool v657 = v562 && v446;
  if (v657) { c_[v655] = v656; }
  const float v658 = s2[v275];
  const unsigned v659 = v568 + v450;
  const _Float16 v660 = (_Float16)(v658);
  const bool v661 = v571 && v453;
  if (v661) { c_[v659] = v660; }
  const float v662 = s2[v293];
  const unsigned v663 = v577 + v457;
  const _Float16 v664 = (_Float16)(v662);
  const bool v665 = v580 && v460;
  if (v665) { c_[v663] = v664; }
  const float v666 = s2[v311];
  const unsigned v667 = v586 + v464;
  const _Float16 v668 = (_Float16)(v666);
  const bool v669 = v589 && v467;
  if (v669) { c_[v667] = v668; }
  const float v670 = s2[v329];
  const unsigned v671 = v595 + v471;
  const _Float16 v672 = (_Float16)(v670);
  const bool v673 = v598 && v474;
  if (v673) { c_[v671] = v672; }
  const float v674 = s2[v347];
  const unsigned v675 = v604 + v478;
  const _Float16 v676 = (_Float16)(v674);
  const bool v677 = v607 && v481;
  if (v677) { c_[v675] = v676; }
  const float v678 = s2[v365];
  const unsigned v679 = v613 + v485;
  const _Float16 v680 = (_Float16)(v678);
  const bool v681 = v616 && v488;
  if (v681) { c_[v679] = v680; }
  __syncthreads();
  wick_tile_store(&s2[v231], t15, 16u);
  __syncthreads();
  const float v682 = s2[v236];
  const unsigned v683 = v550 + v492;
  const _Float16 v684 = (_Float16)(v682);
  const bool v685 = v553 && v495;
  if (v685) { c_[v683] = v684; }
  const float v686 = s2[v257];
  const unsigned v687 = v559 + v499;
  const _Float16 v688 = (_Float16)(v686);
  const bool v689 = v562 && v502;
  if (v689) { c_[v687] = v688; }
  const float v690 = s2[v275];
  const unsigned v691 = v568 + v506;
  const _Float16 v692 = (_Float16)(v690);
  const bool v693 = v571 && v509;
  if (v693) { c_[v691] = v692; }
  const float v694 = s2[v293];
  const unsigned v695 = v577 + v513;
  const _Float16 v696 = (_Float16)(v694);
  const bool v697 = v580 && v516;
  if (v697) { c_[v695] = v696; }
  const float v698 = s2[v311];
  const unsigned v699 = v586 + v520;
  const _Float16 v700 = (_Float16)(v698);
  const bool v701 = v589 && v523;
  if (v701) { c_[v699] = v700; }
  const float v702 = s2[v329];
  const unsigned v703 = v595 + v527;
  const _Float16 v704 = (_Float16)(v702);
  const bool v705 = v598 && v530;
  if (v705) { c_[v703] = v704; }
  const float v706 = s2[v347];
  const unsigned v707 = v604 + v534;
  const _Float16 v708 = (_Float16)(v706);
  const bool v709 = v607 && v537;
  if (v709) { c_[v707] = v708; }
  const float v710 = s2[v365];
  const unsigned v711 = v613 + v541;
  const _Float16 v712 = (_Float16)(v710);
  const bool v713 = v616 && v544;
  if (v713) { c_[v711] = v712; }
  __syncthreads();
  wick_tile_store(&s2[v231], t16, 16u);
  __syncthreads();
  const float v714 = s2[v236];
  const unsigned v715 = v128 + v232;
  const unsigned v716 = v8 + v715;
  const unsigned v717 = v716 * p.n_;
  const unsigned v718 = v240 + v717;
  const unsigned v719 = v718 + v246;
  const _Float16 v720 = (_Float16)(v714);
  const bool v721 = v716 < p.m_;
  const bool v722 = v721 && v250;
  if (v722) { c_[v719] = v720; }
  const float v723 = s2[v257];
  const unsigned v724 = v128 + v253;
  const unsigned v725 = v8 + v724;
  const unsigned v726 = v725 * p.n_;
  const unsigned v727 = v240 + v726;
  const unsigned v728 = v727 + v264;
  const _Float16 v729 = (_Float16)(v723);
  const bool v730 = v725 < p.m_;
  const bool v731 = v730 && v268;
  if (v731) { c_[v728] = v729; }
  const float v732 = s2[v275];
  const unsigned v733 = v128 + v271;
  const unsigned v734 = v8 + v733;
  const unsigned v735 = v734 * p.n_;
  const unsigned v736 = v240 + v735;
  const unsigned v737 = v736 + v282;
  const _Float16 v738 = (_Float16)(v732);
  const bool v739 = v734 < p.m_;
  const bool v740 = v739 && v286;
  if (v740) { c_[v737] = v738; }
  const float v741 = s2[v293];
  const unsigned v742 = v128 + v289;
  const unsigned v743 = v8 + v742;
  const unsigned v744 = v743 * p.n_;
  const unsigned v745 = v240 + v744;
  const unsigned v746 = v745 + v300;
  const _Float16 v747 = (_Float16)(v741);
  const bool v748 = v743 < p.m_;
  const bool v749 = v748 && v304;
  if (v749) { c_[v746] = v747; }
  const float v750 = s2[v311];
  const unsigned v751 = v128 + v307;
  const unsigned v752 = v8 + v751;
  const unsigned v753 = v752 * p.n_;
  const unsigned v754 = v240 + v753;
  const unsigned v755 = v754 + v318;
  const _Float16 v756 = (_Float16)(v750);
  const bool v757 = v752 < p.m_;
  const bool v758 = v757 && v322;
  if (v758) { c_[v755] = v756; }
  const float v759 = s2[v329];
  const unsigned v760 = v128 + v325;
  const unsigned v761 = v8 + v760;
  const unsigned v762 = v761 * p.n_;
  const unsigned v763 = v240 + v762;
  const unsigned v764 = v763 + v336;
  const _Float16 v765 = (_Float16)(v759);
  const bool v766 = v761 < p.m_;
  const bool v767 = v766 && v340;
  if (v767) { c_[v764] = v765; }
  const float v768 = s2[v347];
  const unsigned v769 = v128 + v343;
  const unsigned v770 = v8 + v769;
  const unsigned v771 = v770 * p.n_;
  const unsigned v772 = v240 + v771;
  const unsigned v773 = v772 + v354;
  const _Float16 v774 = (_Float16)(v768);
  const bool v775 = v770 < p.m_;
  const bool v776 = v775 && v358;
  if (v776) { c_[v773] = v774; }
  const float v777 = s2[v365];
  const unsigned v778 = v128 + v361;
  const unsigned v779 = v8 + v778;
  const unsigned v780 = v779 * p.n_;
  const unsigned v781 = v240 + v780;
  const unsigned v782 = v781 + v372;
  const _Float16 v783 = (_Float16)(v777);
  const bool v784 = v779 < p.m_;
  const bool v785 = v784 && v376;
  if (v785) { c_[v782] = v783; }
  __syncthreads();
  wick_tile_store(&s2[v231], t17, 16u);
  __syncthreads();
  const float v786 = s2[v236];
  const unsigned v787 = v718 + v380;
  const _Float16 v788 = (_Float16)(v786);
  const bool v789 = v721 && v383;
  if (v789) { c_[v787] = v788; }
  const float v790 = s2[v257];
  const unsigned v791 = v727 + v387;
  const _Float16 v792 = (_Float16)(v790);
  const bool v793 = v730 && v390;
  if (v793) { c_[v791] = v792; }
  const float v794 = s2[v275];
  const unsigned v795 = v736 + v394;
  const _Float16 v796 = (_Float16)(v794);
  const bool v797 = v739 && v397;
  if (v797) { c_[v795] = v796; }
  const float v798 = s2[v293];
  const unsigned v799 = v745 + v401;
  const _Float16 v800 = (_Float16)(v798);
  const bool v801 = v748 && v404;
  if (v801) { c_[v799] = v800; }
  const float v802 = s2[v311];
  const unsigned v803 = v754 + v408;
  const _Float16 v804 = (_Float16)(v802);
  const bool v805 = v757 && v411;
  if (v805) { c_[v803] = v804; }
  const float v806 = s2[v329];
  const unsigned v807 = v763 + v415;
  const _Float16 v808 = (_Float16)(v806);
  const bool v809 = v766 && v418;
  if (v809) { c_[v807] = v808; }
  const float v810 = s2[v347];
  const unsigned v811 = v772 + v422;
  const _Float16 v812 = (_Float16)(v810);
  const bool v813 = v775 && v425;
  if (v813) { c_[v811] = v812; }
  const float v814 = s2[v365];
  const unsigned v815 = v781 + v429;
  const _Float16 v816 = (_Float16)(v814);
  const bool v817 = v784 && v432;
  if (v817) { c_[v815] = v816; }
  __syncthreads();
  wick_tile_store(&s2[v231], t18, 16u);
  __syncthreads();
  const float v818 = s2[v236];
  const unsigned v819 = v718 + v436;
  const _Float16 v820 = (_Float16)(v818);
  const bool v821 = v721 && v439;
  if (v821) { c_[v819] = v820; }
  const float v822 = s2[v257];
  const unsigned v823 = v727 + v443;
  const _Float16 v824 = (_Float16)(v822);
  const bool v825 = v730 && v446;
  if (v825) { c_[v823] = v824; }
  const float v826 = s2[v275];
  const unsigned v827 = v736 + v450;
  const _Float16 v828 = (_Float16)(v826);
  const bool v829 = v739 && v453;
  if (v829) { c_[v827] = v828; }
  const float v830 = s2[v293];
  const unsigned v831 = v745 + v457;
  const _Float16 v832 = (_Float16)(v830);
  const bool v833 = v748 && v460;
  if (v833) { c_[v831] = v832; }
  const float v834 = s2[v311];
  const unsigned v835 = v754 + v464;
  const _Float16 v836 = (_Float16)(v834);
  const bool v837 = v757 && v467;
  if (v837) { c_[v835] = v836; }
  const float v838 = s2[v329];
  const unsigned v839 = v763 + v471;
  const _Float16 v840 = (_Float16)(v838);
  const bool v841 = v766 && v474;
  if (v841) { c_[v839] = v840; }
  const float v842 = s2[v347];
  const unsigned v843 = v772 + v478;
  const _Float16 v844 = (_Float16)(v842);
  const bool v845 = v775 && v481;
  if (v845) { c_[v843] = v844; }
  const float v846 = s2[v365];
  const unsigned v847 = v781 + v485;
  const _Float16 v848 = (_Float16)(v846);
  const bool v849 = v784 && v488;
  if (v849) { c_[v847] = v848; }
  __syncthreads();
  wick_tile_store(&s2[v231], t19, 16u);
  __syncthreads();
  const float v850 = s2[v236];
  const unsigned v851 = v718 + v492;
  const _Float16 v852 = (_Float16)(v850);
  const bool v853 = v721 && v495;
  if (v853) { c_[v851] = v852; }
  const float v854 = s2[v257];
  const unsigned v855 = v727 + v499;
  const _Float16 v856 = (_Float16)(v854);
  const bool v857 = v730 && v502;
  if (v857) { c_[v855] = v856; }
  const float v858 = s2[v275];
  const unsigned v859 = v736 + v506;
  const _Float16 v860 = (_Float16)(v858);
  const bool v861 = v739 && v509;
  if (v861) { c_[v859] = v860; }
  const float v862 = s2[v293];
  const unsigned v863 = v745 + v513;
  const _Float16 v864 = (_Float16)(v862);
  const bool v865 = v748 && v516;
  if (v865) { c_[v863] = v864; }
  const float v866 = s2[v311];
  const unsigned v867 = v754 + v520;
  const _Float16 v868 = (_Float16)(v866);
  const bool v869 = v757 && v523;
  if (v869) { c_[v867] = v868; }
  const float v870 = s2[v329];
  const unsigned v871 = v763 + v527;
  const _Float16 v872 = (_Float16)(v870);
  const bool v873 = v766 && v530;
  if (v873) { c_[v871] = v872; }
  const float v874 = s2[v347];
  const unsigned v875 = v772 + v534;
  const _Float16 v876 = (_Float16)(v874);
  const bool v877 = v775 && v537;
  if (v877) { c_[v875] = v876; }
  const float v878 = s2[v365];
  const unsigned v879 = v781 + v541;
  const _Float16 v880 = (_Float16)(v878);
  const bool v881 = v784 && v544;
  if (v881) { c_[v879] = v880; }
  __syncthreads();
  wick_tile_store(&s2[v231], t20, 16u);
  __syncthreads();
  const float v882 = s2[v236];
  const unsigned v883 = v130 + v232;
  const unsigned v884 = v8 + v883;
  const unsigned v885 = v884 * p.n_;
  const unsigned v886 = v240 + v885;
  const unsigned v887 = v886 + v246;
  const _Float16 v888 = (_Float16)(v882);
  const bool v889 = v884 < p.m_;
  const bool v890 = v889 && v250;
  if (v890) { c_[v887] = v888; }
  const float v891 = s2[v257];
  const unsigned v892 = v130 + v253;
  const unsigned v893 = v8 + v892;
  const unsigned v894 = v893 * p.n_;
  const unsigned v895 = v240 + v894;
  const unsigned v896 = v895 + v264;
  const _Float16 v897 = (_Float16)(v891);
  const bool v898 = v893 < p.m_;
  const bool v899 = v898 && v268;
  if (v899) { c_[v896] = v897; }
  const float v900 = s2[v275];
  const unsigned v901 = v130 + v271;
  const unsigned v902 = v8 + v901;
  const unsigned v903 = v902 * p.n_;
  const unsigned v904 = v240 + v903;
  const unsigned v905 = v904 + v282;
  const _Float16 v906 = (_Float16)(v900);
  const bool v907 = v902 < p.m_;
  const bool v908 = v907 && v286;
  if (v908) { c_[v905] = v906; }
  const float v909 = s2[v293];
  const unsigned v910 = v130 + v289;
  const unsigned v911 = v8 + v910;
  const unsigned v912 = v911 * p.n_;
  const unsigned v913 = v240 + v912;
  const unsigned v914 = v913 + v300;
  const _Float16 v915 = (_Float16)(v909);
  const bool v916 = v911 < p.m_;
  const bool v917 = v916 && v304;
  if (v917) { c_[v914] = v915; }
  const float v918 = s2[v311];
  const unsigned v919 = v130 + v307;
  const unsigned v920 = v8 + v919;
  const unsigned v921 = v920 * p.n_;
  const unsigned v922 = v240 + v921;
  const unsigned v923 = v922 + v318;
  const _Float16 v924 = (_Float16)(v918);
  const bool v925 = v920 < p.m_;
  const bool v926 = v925 && v322;
  if (v926) { c_[v923] = v924; }
  const float v927 = s2[v329];
  const unsigned v928 = v130 + v325;
  const unsigned v929 = v8 + v928;
  const unsigned v930 = v929 * p.n_;
  const unsigned v931 = v240 + v930;
  const unsigned v932 = v931 + v336;
  const _Float16 v933 = (_Float16)(v927);
  const bool v934 = v929 < p.m_;
  const bool v935 = v934 && v340;
  if (v935) { c_[v932] = v933; }
  const float v936 = s2[v347];
  const unsigned v937 = v130 + v343;
  const unsigned v938 = v8 + v937;
  const unsigned v939 = v938 * p.n_;
  const unsigned v940 = v240 + v939;
  const unsigned v941 = v940 + v354;
  const _Float16 v942 = (_Float16)(v936);
  const bool v943 = v938 < p.m_;
  const bool v944 = v943 && v358;
  if (v944) { c_[v941] = v942; }
  const float v945 = s2[v365];
  const unsigned v946 = v130 + v361;
  const unsigned v947 = v8 + v946;
  const unsigned v948 = v947 * p.n_;
  const unsigned v949 = v240 + v948;
  const unsigned v950 = v949 + v372;
  const _Float16 v951 = (_Float16)(v945);
  const bool v952 = v947 < p.m_;
  const bool v953 = v952 && v376;
  if (v953) { c_[v950] = v951; }
  __syncthreads();
  wick_tile_store(&s2[v231], t21, 16u);
  __syncthreads();
  const float v954 = s2[v236];
  const unsigned v955 = v886 + v380;
  const _Float16 v956 = (_Float16)(v954);
  const bool v957 = v889 && v383;
  if (v957) { c_[v955] = v956; }
  const float v958 = s2[v257];
  const unsigned v959 = v895 + v387;
  const _Float16 v960 = (_Float16)(v958);
  const bool v961 = v898 && v390;
  if (v961) { c_[v959] = v960; }
  const float v962 = s2[v275];
  const unsigned v963 = v904 + v394;
  const _Float16 v964 = (_Float16)(v962);
  const bool v965 = v907 && v397;
  if (v965) { c_[v963] = v964; }
  const float v966 = s2[v293];
  const unsigned v967 = v913 + v401;
  const _Float16 v968 = (_Float16)(v966);
  const bool v969 = v916 && v404;
  if (v969) { c_[v967] = v968; }
  const float v970 = s2[v311];
  const unsigned v971 = v922 + v408;
  const _Float16 v972 = (_Float16)(v970);
  const bool v973 = v925 && v411;
  if (v973) { c_[v971] = v972; }
  const float v974 = s2[v329];
  const unsigned v975 = v931 + v415;
  const _Float16 v976 = (_Float16)(v974);
  const bool v977 = v934 && v418;
  if (v977) { c_[v975] = v976; }
  const float v978 = s2[v347];
  const unsigned v979 = v940 + v422;
  const _Float16 v980 = (_Float16)(v978);
  const bool v981 = v943 && v425;
  if (v981) { c_[v979] = v980; }
  const float v982 = s2[v365];
  const unsigned v983 = v949 + v429;
  const _Float16 v984 = (_Float16)(v982);
  const bool v985 = v952 && v432;
  if (v985) { c_[v983] = v984; }
  __syncthreads();
  wick_tile_store(&s2[v231], t22, 16u);
  __syncthreads();
  const float v986 = s2[v236];
  const unsigned v987 = v886 + v436;
  const _Float16 v988 = (_Float16)(v986);
  const bool v989 = v889 && v439;
  if (v989) { c_[v987] = v988; }
  const float v990 = s2[v257];
  const unsigned v991 = v895 + v443;
  const _Float16 v992 = (_Float16)(v990);
  const bool v993 = v898 && v446;
  if (v993) { c_[v991] = v992; }
  const float v994 = s2[v275];
  const unsigned v995 = v904 + v450;
  const _Float16 v996 = (_Float16)(v994);
  const bool v997 = v907 && v453;
  if (v997) { c_[v995] = v996; }
  const float v998 = s2[v293];
  const unsigned v999 = v913 + v457;
  const _Float16 v1000 = (_Float16)(v998);
  const bool v1001 = v916 && v460;
  if (v1001) { c_[v999] = v1000; }
  const float v1002 = s2[v311];
  const unsigned v1003 = v922 + v464;
  const _Float16 v1004 = (_Float16)(v1002);
  const bool v1005 = v925 && v467;
  if (v1005) { c_[v1003] = v1004; }
  const float v1006 = s2[v329];
  const unsigned v1007 = v931 + v471;
  const _Float16 v1008 = (_Float16)(v1006);
  const bool v1009 = v934 && v474;
  if (v1009) { c_[v1007] = v1008; }
  const float v1010 = s2[v347];
  const unsigned v1011 = v940 + v478;
  const _Float16 v1012 = (_Float16)(v1010);
  const bool v1013 = v943 && v481;
  if (v1013) { c_[v1011] = v1012; }
  const float v1014 = s2[v365];
  const unsigned v1015 = v949 + v485;
  const _Float16 v1016 = (_Float16)(v1014);
  const bool v1017 = v952 && v488;
  if (v1017) { c_[v1015] = v1016; }
  __syncthreads();
  wick_tile_store(&s2[v231], t23, 16u);
  __syncthreads();
  const float v1018 = s2[v236];
  const unsigned v1019 = v886 + v492;
  const _Float16 v1020 = (_Float16)(v1018);
  const bool v1021 = v889 && v495;
  if (v1021) { c_[v1019] = v1020; }
  const float v1022 = s2[v257];
  const unsigned v1023 = v895 + v499;
  const _Float16 v1024 = (_Float16)(v1022);
  const bool v1025 = v898 && v502;
  if (v1025) { c_[v1023] = v1024; }
  const float v1026 = s2[v275];
  const unsigned v1027 = v904 + v506;
  const _Float16 v1028 = (_Float16)(v1026);
  const bool v1029 = v907 && v509;
  if (v1029) { c_[v1027] = v1028; }
  const float v1030 = s2[v293];
  const unsigned v1031 = v913 + v513;
  const _Float16 v1032 = (_Float16)(v1030);
  const bool v1033 = v916 && v516;
  if (v1033) { c_[v1031] = v1032; }
  const float v1034 = s2[v311];
  const unsigned v1035 = v922 + v520;
  const _Float16 v1036 = (_Float16)(v1034);
  const bool v1037 = v925 && v523;
  if (v1037) { c_[v1035] = v1036; }
  const float v1038 = s2[v329];
  const unsigned v1039 = v931 + v527;
  const _Float16 v1040 = (_Float16)(v1038);
  const bool v1041 = v934 && v530;
  if (v1041) { c_[v1039] = v1040; }
  const float v1042 = s2[v347];
  const unsigned v1043 = v940 + v534;
  const _Float16 v1044 = (_Float16)(v1042);
  const bool v1045 = v943 && v537;
  if (v1045) { c_[v1043] = v1044; }
  const float v1046 = s2[v365];
  const unsigned v1047 = v949 + v541;
  const _Float16 v1048 = (_Float16)(v1046);
  const bool v1049 = v952 && v544;
  if (v1049) { c_[v1047] = v1048; }
  __syncthreads();
}
