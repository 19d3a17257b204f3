#include <cuda_fp16.h>
#include <mma.h>
struct Params { unsigned m_; unsigned n_; unsigned k_; unsigned a_offset_; unsigned a_row_stride_; unsigned a_column_stride_; unsigned a_outer_stride_; unsigned a_inner_stride_; unsigned b_offset_; unsigned b_row_stride_; unsigned b_column_stride_; unsigned b_outer_stride_; unsigned b_inner_stride_; unsigned c_offset_; unsigned batch_extent_; unsigned first_batch_; };
extern "C" __global__ void __launch_bounds__(128) wick_matmul_tiles_16x16x16_s32(const unsigned* __restrict__ a_, const unsigned* __restrict__ b_, __half* __restrict__ c_, const Params p) {
  alignas(16) __shared__ unsigned s0[5120];
  alignas(16) __shared__ unsigned s1[4352];
  alignas(16) __shared__ float s2[1024];
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, nvcuda::wmma::row_major> t0;
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, nvcuda::wmma::row_major> t1;
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, nvcuda::wmma::row_major> t2;
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, nvcuda::wmma::row_major> t3;
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, __half, nvcuda::wmma::row_major> t4;
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, __half, nvcuda::wmma::row_major> t5;
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, __half, nvcuda::wmma::row_major> t6;
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, __half, nvcuda::wmma::row_major> t7;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> t8;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> t9;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> t10;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> t11;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> t12;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> t13;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> t14;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> t15;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> t16;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> t17;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> t18;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> t19;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> t20;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> t21;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> t22;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> t23;
  nvcuda::wmma::fill_fragment(t8, 0x0p+0f);
  nvcuda::wmma::fill_fragment(t9, 0x0p+0f);
  nvcuda::wmma::fill_fragment(t10, 0x0p+0f);
  nvcuda::wmma::fill_fragment(t11, 0x0p+0f);
  nvcuda::wmma::fill_fragment(t12, 0x0p+0f);
  nvcuda::wmma::fill_fragment(t13, 0x0p+0f);
  nvcuda::wmma::fill_fragment(t14, 0x0p+0f);
  nvcuda::wmma::fill_fragment(t15, 0x0p+0f);
  nvcuda::wmma::fill_fragment(t16, 0x0p+0f);
  nvcuda::wmma::fill_fragment(t17, 0x0p+0f);
  nvcuda::wmma::fill_fragment(t18, 0x0p+0f);
  nvcuda::wmma::fill_fragment(t19, 0x0p+0f);
  nvcuda::wmma::fill_fragment(t20, 0x0p+0f);
  nvcuda::wmma::fill_fragment(t21, 0x0p+0f);
  nvcuda::wmma::fill_fragment(t22, 0x0p+0f);
  nvcuda::wmma::fill_fragment(t23, 0x0p+0f);
  const unsigned v0 = p.first_batch_ + blockIdx.z;
  const unsigned v1 = v0 / p.batch_extent_;
  const unsigned v2 = v1 * p.a_outer_stride_;
  const unsigned v3 = p.a_offset_ + v2;
  const unsigned v4 = v0 % p.batch_extent_;
  const unsigned v5 = v4 * p.a_inner_stride_;
  const unsigned v6 = v3 + v5;
  const unsigned v7 = v6 / 2u;
  const unsigned v8 = blockIdx.y * 128u;
  const unsigned v9 = threadIdx.x * 4u;
  const unsigned v10 = v9 / 16u;
  const unsigned v11 = v8 + v10;
  const unsigned v12 = p.a_row_stride_ / 2u;
  const unsigned v13 = v11 * v12;
  const unsigned v14 = v7 + v13;
  const unsigned v15 = v9 % 16u;
  const unsigned v16 = v14 + v15;
  const bool v17 = v11 < p.m_;
  const unsigned v18 = p.k_ / 2u;
  const bool v19 = v15 < v18;
  const bool v20 = v17 && v19;
  uint4 v21 = uint4{0u, 0u, 0u, 0u};
  if (v20) { v21 = *reinterpret_cast<const uint4*>(&a_[v16]); }
  const unsigned v22 = threadIdx.x + 256u;
  const unsigned v23 = v22 * 4u;
  const unsigned v24 = v23 / 16u;
  const unsigned v25 = v8 + v24;
  const unsigned v26 = v25 * v12;
  const unsigned v27 = v7 + v26;
  const unsigned v28 = v23 % 16u;
  const unsigned v29 = v27 + v28;
  const bool v30 = v25 < p.m_;
  const bool v31 = v28 < v18;
  const bool v32 = v30 && v31;
  uint4 v33 = uint4{0u, 0u, 0u, 0u};
  if (v32) { v33 = *reinterpret_cast<const uint4*>(&a_[v29]); }
  const unsigned v34 = threadIdx.x + 128u;
  const unsigned v35 = v34 * 4u;
  const unsigned v36 = v35 / 16u;
  const unsigned v37 = v8 + v36;
  const unsigned v38 = v37 * v12;
  const unsigned v39 = v7 + v38;
  const unsigned v40 = v35 % 16u;
  const unsigned v41 = v39 + v40;
  const bool v42 = v37 < p.m_;
  const bool v43 = v40 < v18;
  const bool v44 = v42 && v43;
  uint4 v45 = uint4{0u, 0u, 0u, 0u};
  if (v44) { v45 = *reinterpret_cast<const uint4*>(&a_[v41]); }
  const unsigned v46 = threadIdx.x + 384u;
  const unsigned v47 = v46 * 4u;
  const unsigned v48 = v47 / 16u;
  const unsigned v49 = v8 + v48;
  const unsigned v50 = v49 * v12;
  const unsigned v51 = v7 + v50;
  const unsigned v52 = v47 % 16u;
  const unsigned v53 = v51 + v52;
  const bool v54 = v49 < p.m_;
  const bool v55 = v52 < v18;
  const bool v56 = v54 && v55;
  uint4 v57 = uint4{0u, 0u, 0u, 0u};
  if (v56) { v57 = *reinterpret_cast<const uint4*>(&a_[v53]); }
  const unsigned v58 = v10 * 20u;
  const unsigned v59 = v58 + v15;
  *reinterpret_cast<uint4*>(&s0[v59]) = uint4{v21.x, v21.y, v21.z, v21.w};
  const unsigned v60 = v36 * 20u;
  const unsigned v61 = v60 + v40;
  *reinterpret_cast<uint4*>(&s0[v61]) = uint4{v45.x, v45.y, v45.z, v45.w};
  const unsigned v62 = v24 * 20u;
  const unsigned v63 = v62 + v28;
  *reinterpret_cast<uint4*>(&s0[v63]) = uint4{v33.x, v33.y, v33.z, v33.w};
  const unsigned v64 = v48 * 20u;
  const unsigned v65 = v64 + v52;
  *reinterpret_cast<uint4*>(&s0[v65]) = uint4{v57.x, v57.y, v57.z, v57.w};
  const unsigned v66 = v1 * p.b_outer_stride_;
  const unsigned v67 = p.b_offset_ + v66;
  const unsigned v68 = v4 * p.b_inner_stride_;
  const unsigned v69 = v67 + v68;
  const unsigned v70 = v69 / 2u;
  const unsigned v71 = v47 / 64u;
  const unsigned v72 = p.b_row_stride_ / 2u;
  const unsigned v73 = v71 * v72;
  const unsigned v74 = v70 + v73;
  const unsigned v75 = blockIdx.x * 128u;
  const unsigned v76 = v75 / 2u;
  const unsigned v77 = v47 % 64u;
  const unsigned v78 = v76 + v77;
  const unsigned v79 = v74 + v78;
  const bool v80 = v71 < p.k_;
  const unsigned v81 = p.n_ / 2u;
  const bool v82 = v78 < v81;
  const bool v83 = v80 && v82;
  uint4 v84 = uint4{0u, 0u, 0u, 0u};
  if (v83) { v84 = *reinterpret_cast<const uint4*>(&b_[v79]); }
  const unsigned v85 = v23 / 64u;
  const unsigned v86 = v85 * v72;
  const unsigned v87 = v70 + v86;
  const unsigned v88 = v23 % 64u;
  const unsigned v89 = v76 + v88;
  const unsigned v90 = v87 + v89;
  const bool v91 = v85 < p.k_;
  const bool v92 = v89 < v81;
  const bool v93 = v91 && v92;
  uint4 v94 = uint4{0u, 0u, 0u, 0u};
  if (v93) { v94 = *reinterpret_cast<const uint4*>(&b_[v90]); }
  const unsigned v95 = v35 / 64u;
  const unsigned v96 = v95 * v72;
  const unsigned v97 = v70 + v96;
  const unsigned v98 = v35 % 64u;
  const unsigned v99 = v76 + v98;
  const unsigned v100 = v97 + v99;
  const bool v101 = v95 < p.k_;
  const bool v102 = v99 < v81;
  const bool v103 = v101 && v102;
  uint4 v104 = uint4{0u, 0u, 0u, 0u};
  if (v103) { v104 = *reinterpret_cast<const uint4*>(&b_[v100]); }
  const unsigned v105 = v9 / 64u;
  const unsigned v106 = v105 * v72;
  const unsigned v107 = v70 + v106;
  const unsigned v108 = v9 % 64u;
  const unsigned v109 = v76 + v108;
  const unsigned v110 = v107 + v109;
  const bool v111 = v105 < p.k_;
  const bool v112 = v109 < v81;
  const bool v113 = v111 && v112;
  uint4 v114 = uint4{0u, 0u, 0u, 0u};
  if (v113) { v114 = *reinterpret_cast<const uint4*>(&b_[v110]); }
  const unsigned v115 = v105 * 68u;
  const unsigned v116 = v115 + v108;
  *reinterpret_cast<uint4*>(&s1[v116]) = uint4{v114.x, v114.y, v114.z, v114.w};
  const unsigned v117 = v95 * 68u;
  const unsigned v118 = v117 + v98;
  *reinterpret_cast<uint4*>(&s1[v118]) = uint4{v104.x, v104.y, v104.z, v104.w};
  const unsigned v119 = v85 * 68u;
  const unsigned v120 = v119 + v88;
  *reinterpret_cast<uint4*>(&s1[v120]) = uint4{v94.x, v94.y, v94.z, v94.w};
  const unsigned v121 = v71 * 68u;
  const unsigned v122 = v121 + v77;
  *reinterpret_cast<uint4*>(&s1[v122]) = uint4{v84.x, v84.y, v84.z, v84.w};
  __syncthreads();
  const unsigned v123 = (threadIdx.x / 32u) / 2u;
  const unsigned v124 = v123 * 64u;
  const unsigned v125 = v124 * 20u;
  const unsigned v126 = (threadIdx.x / 32u) % 2u;
  const unsigned v127 = v126 * 64u;
  const unsigned v128 = v127 / 2u;
  const unsigned v129 = v124 + 16u;
  const unsigned v130 = v129 * 20u;
  const unsigned v131 = v127 + 16u;
  const unsigned v132 = v131 / 2u;
  const unsigned v133 = v124 + 32u;
  const unsigned v134 = v133 * 20u;
  const unsigned v135 = v127 + 32u;
  const unsigned v136 = v135 / 2u;
  const unsigned v137 = v124 + 48u;
  const unsigned v138 = v137 * 20u;
  const unsigned v139 = v127 + 48u;
  const unsigned v140 = v139 / 2u;
  for (unsigned i0 = 0u; i0 < p.k_; i0 += 32u) {
    const unsigned v141 = i0 + 32u;
    const unsigned v142 = v141 + v71;
    const unsigned v143 = v142 * v72;
    const unsigned v144 = v70 + v143;
    const unsigned v145 = v144 + v78;
    const bool v146 = v142 < p.k_;
    const bool v147 = v146 && v82;
    uint4 v148 = uint4{0u, 0u, 0u, 0u};
    if (v147) { v148 = *reinterpret_cast<const uint4*>(&b_[v145]); }
    const unsigned v149 = v141 + v105;
    const unsigned v150 = v149 * v72;
    const unsigned v151 = v70 + v150;
    const unsigned v152 = v151 + v109;
    const bool v153 = v149 < p.k_;
    const bool v154 = v153 && v112;
    uint4 v155 = uint4{0u, 0u, 0u, 0u};
    if (v154) { v155 = *reinterpret_cast<const uint4*>(&b_[v152]); }
    const unsigned v156 = v141 + v85;
    const unsigned v157 = v156 * v72;
    const unsigned v158 = v70 + v157;
    const unsigned v159 = v158 + v89;
    const bool v160 = v156 < p.k_;
    const bool v161 = v160 && v92;
    uint4 v162 = uint4{0u, 0u, 0u, 0u};
    if (v161) { v162 = *reinterpret_cast<const uint4*>(&b_[v159]); }
    const unsigned v163 = v141 / 2u;
    const unsigned v164 = v163 + v15;
    const unsigned v165 = v14 + v164;
    const bool v166 = v164 < v18;
    const bool v167 = v17 && v166;
    uint4 v168 = uint4{0u, 0u, 0u, 0u};
    if (v167) { v168 = *reinterpret_cast<const uint4*>(&a_[v165]); }
    const unsigned v169 = v163 + v28;
    const unsigned v170 = v27 + v169;
    const bool v171 = v169 < v18;
    const bool v172 = v30 && v171;
    uint4 v173 = uint4{0u, 0u, 0u, 0u};
    if (v172) { v173 = *reinterpret_cast<const uint4*>(&a_[v170]); }
    const unsigned v174 = v141 + v95;
    const unsigned v175 = v174 * v72;
    const unsigned v176 = v70 + v175;
    const unsigned v177 = v176 + v99;
    const bool v178 = v174 < p.k_;
    const bool v179 = v178 && v102;
    uint4 v180 = uint4{0u, 0u, 0u, 0u};
    if (v179) { v180 = *reinterpret_cast<const uint4*>(&b_[v177]); }
    const unsigned v181 = v163 + v40;
    const unsigned v182 = v39 + v181;
    const bool v183 = v181 < v18;
    const bool v184 = v42 && v183;
    uint4 v185 = uint4{0u, 0u, 0u, 0u};
    if (v184) { v185 = *reinterpret_cast<const uint4*>(&a_[v182]); }
    const unsigned v186 = v163 + v52;
    const unsigned v187 = v51 + v186;
    const bool v188 = v186 < v18;
    const bool v189 = v54 && v188;
    uint4 v190 = uint4{0u, 0u, 0u, 0u};
    if (v189) { v190 = *reinterpret_cast<const uint4*>(&a_[v187]); }
    const unsigned v191 = i0 / 32u;
    const unsigned v192 = v191 % 2u;
    const unsigned v193 = v192 * 2560u;
    const unsigned v194 = v193 + v125;
    nvcuda::wmma::load_matrix_sync(t0, reinterpret_cast<const __half*>(&s0[v194]), 2u * 20u);
    const unsigned v195 = v192 * 2176u;
    const unsigned v196 = v195 + v128;
    nvcuda::wmma::load_matrix_sync(t4, reinterpret_cast<const __half*>(&s1[v196]), 2u * 68u);
    const unsigned v197 = v193 + v130;
    nvcuda::wmma::load_matrix_sync(t1, reinterpret_cast<const __half*>(&s0[v197]), 2u * 20u);
    const unsigned v198 = v195 + v132;
    nvcuda::wmma::load_matrix_sync(t5, reinterpret_cast<const __half*>(&s1[v198]), 2u * 68u);
    const unsigned v199 = v193 + v134;
    nvcuda::wmma::load_matrix_sync(t2, reinterpret_cast<const __half*>(&s0[v199]), 2u * 20u);
    const unsigned v200 = v195 + v136;
    nvcuda::wmma::load_matrix_sync(t6, reinterpret_cast<const __half*>(&s1[v200]), 2u * 68u);
    const unsigned v201 = v193 + v138;
    nvcuda::wmma::load_matrix_sync(t3, reinterpret_cast<const __half*>(&s0[v201]), 2u * 20u);
    const unsigned v202 = v195 + v140;
    nvcuda::wmma::load_matrix_sync(t7, reinterpret_cast<const __half*>(&s1[v202]), 2u * 68u);
    nvcuda::wmma::mma_sync(t8, t0, t4, t8);
    nvcuda::wmma::mma_sync(t9, t0, t5, t9);
    nvcuda::wmma::mma_sync(t10, t0, t6, t10);
    nvcuda::wmma::mma_sync(t11, t0, t7, t11);
    nvcuda::wmma::mma_sync(t12, t1, t4, t12);
    nvcuda::wmma::mma_sync(t13, t1, t5, t13);
    nvcuda::wmma::mma_sync(t14, t1, t6, t14);
    nvcuda::wmma::mma_sync(t15, t1, t7, t15);
    nvcuda::wmma::mma_sync(t16, t2, t4, t16);
    nvcuda::wmma::mma_sync(t17, t2, t5, t17);
    nvcuda::wmma::mma_sync(t18, t2, t6, t18);
    nvcuda::wmma::mma_sync(t19, t2, t7, t19);
    nvcuda::wmma::mma_sync(t20, t3, t4, t20);
    nvcuda::wmma::mma_sync(t21, t3, t5, t21);
    nvcuda::wmma::mma_sync(t22, t3, t6, t22);
    nvcuda::wmma::mma_sync(t23, t3, t7, t23);
    const unsigned v203 = v194 + 8u;
    nvcuda::wmma::load_matrix_sync(t0, reinterpret_cast<const __half*>(&s0[v203]), 2u * 20u);
    const unsigned v204 = v195 + 1088u;
    const unsigned v205 = v204 + v128;
    nvcuda::wmma::load_matrix_sync(t4, reinterpret_cast<const __half*>(&s1[v205]), 2u * 68u);
    const unsigned v206 = v197 + 8u;
    nvcuda::wmma::load_matrix_sync(t1, reinterpret_cast<const __half*>(&s0[v206]), 2u * 20u);
    const unsigned v207 = v204 + v132;
    nvcuda::wmma::load_matrix_sync(t5, reinterpret_cast<const __half*>(&s1[v207]), 2u * 68u);
    const unsigned v208 = v199 + 8u;
    nvcuda::wmma::load_matrix_sync(t2, reinterpret_cast<const __half*>(&s0[v208]), 2u * 20u);
    const unsigned v209 = v204 + v136;
    nvcuda::wmma::load_matrix_sync(t6, reinterpret_cast<const __half*>(&s1[v209]), 2u * 68u);
    const unsigned v210 = v201 + 8u;
    nvcuda::wmma::load_matrix_sync(t3, reinterpret_cast<const __half*>(&s0[v210]), 2u * 20u);
    const unsigned v211 = v204 + v140;
    nvcuda::wmma::load_matrix_sync(t7, reinterpret_cast<const __half*>(&s1[v211]), 2u * 68u);
    nvcuda::wmma::mma_sync(t8, t0, t4, t8);
    nvcuda::wmma::mma_sync(t9, t0, t5, t9);
    nvcuda::wmma::mma_sync(t10, t0, t6, t10);
    nvcuda::wmma::mma_sync(t11, t0, t7, t11);
    nvcuda::wmma::mma_sync(t12, t1, t4, t12);
    nvcuda::wmma::mma_sync(t13, t1, t5, t13);
    nvcuda::wmma::mma_sync(t14, t1, t6, t14);
    nvcuda::wmma::mma_sync(t15, t1, t7, t15);
    nvcuda::wmma::mma_sync(t16, t2, t4, t16);
    nvcuda::wmma::mma_sync(t17, t2, t5, t17);
    nvcuda::wmma::mma_sync(t18, t2, t6, t18);
    nvcuda::wmma::mma_sync(t19, t2, t7, t19);
    nvcuda::wmma::mma_sync(t20, t3, t4, t20);
    nvcuda::wmma::mma_sync(t21, t3, t5, t21);
    nvcuda::wmma::mma_sync(t22, t3, t6, t22);
    nvcuda::wmma::mma_sync(t23, t3, t7, t23);
    const unsigned v212 = 1u - v192;
    const unsigned v213 = v212 * 2560u;
    const unsigned v214 = v213 + v58;
    const unsigned v215 = v214 + v15;
    *reinterpret_cast<uint4*>(&s0[v215]) = uint4{v168.x, v168.y, v168.z, v168.w};
    const unsigned v216 = v213 + v60;
    const unsigned v217 = v216 + v40;
    *reinterpret_cast<uint4*>(&s0[v217]) = uint4{v185.x, v185.y, v185.z, v185.w};
    const unsigned v218 = v213 + v62;
    const unsigned v219 = v218 + v28;
    *reinterpret_cast<uint4*>(&s0[v219]) = uint4{v173.x, v173.y, v173.z, v173.w};
    const unsigned v220 = v213 + v64;
    const unsigned v221 = v220 + v52;
    *reinterpret_cast<uint4*>(&s0[v221]) = uint4{v190.x, v190.y, v190.z, v190.w};
    const unsigned v222 = v212 * 2176u;
    const unsigned v223 = v222 + v115;
    const unsigned v224 = v223 + v108;
    *reinterpret_cast<uint4*>(&s1[v224]) = uint4{v155.x, v155.y, v155.z, v155.w};
    const unsigned v225 = v222 + v117;
    const unsigned v226 = v225 + v98;
    *reinterpret_cast<uint4*>(&s1[v226]) = uint4{v180.x, v180.y, v180.z, v180.w};
    const unsigned v227 = v222 + v119;
    const unsigned v228 = v227 + v88;
    *reinterpret_cast<uint4*>(&s1[v228]) = uint4{v162.x, v162.y, v162.z, v162.w};
    const unsigned v229 = v222 + v121;
    const unsigned v230 = v229 + v77;
    *reinterpret_cast<uint4*>(&s1[v230]) = uint4{v148.x, v148.y, v148.z, v148.w};
    __syncthreads();
  }
  const unsigned v231 = (threadIdx.x / 32u) * 256u;
  nvcuda::wmma::store_matrix_sync(&s2[v231], t8, 16u, nvcuda::wmma::mem_row_major);
  __syncthreads();
  const unsigned v232 = v231 + (threadIdx.x % 32u);
  const float v233 = s2[v232];
  const unsigned v234 = p.m_ * p.n_;
  const unsigned v235 = v0 * v234;
  const unsigned v236 = p.c_offset_ + v235;
  const unsigned v237 = v8 + v124;
  const unsigned v238 = (threadIdx.x % 32u) / 16u;
  const unsigned v239 = v237 + v238;
  const unsigned v240 = v239 * p.n_;
  const unsigned v241 = v236 + v240;
  const unsigned v242 = v75 + v127;
  const unsigned v243 = (threadIdx.x % 32u) % 16u;
  const unsigned v244 = v242 + v243;
  const unsigned v245 = v241 + v244;
  const __half v246 = __float2half_rn(v233);
  const bool v247 = v239 < p.m_;
  const bool v248 = v244 < p.n_;
  const bool v249 = v247 && v248;
  if (v249) { c_[v245] = v246; }
  const unsigned v250 = (threadIdx.x % 32u) + 32u;
  const unsigned v251 = v231 + v250;
  const float v252 = s2[v251];
  const unsigned v253 = v250 / 16u;
  const unsigned v254 = v237 + v253;
  const unsigned v255 = v254 * p.n_;
  const unsigned v256 = v236 + v255;
  const unsigned v257 = v250 % 16u;
  const unsigned v258 = v242 + v257;
  const unsigned v259 = v256 + v258;
  const __half v260 = __float2half_rn(v252);
  const bool v261 = v254 < p.m_;
  const bool v262 = v258 < p.n_;
  const bool v263 = v261 && v262;
  if (v263) { c_[v259] = v260; }
  const unsigned v264 = (threadIdx.x % 32u) + 64u;
  const unsigned v265 = v231 + v264;
  const float v266 = s2[v265];
  const unsigned v267 = v264 / 16u;
  const unsigned v268 = v237 + v267;
  const unsigned v269 = v268 * p.n_;
  const unsigned v270 = v236 + v269;
  const unsigned v271 = v264 % 16u;
  const unsigned v272 = v242 + v271;
  const unsigned v273 = v270 + v272;
  const __half v274 = __float2half_rn(v266);
  const bool v275 = v268 < p.m_;
  const bool v276 = v272 < p.n_;
  const bool v277 = v275 && v276;
  if (v277) { c_[v273] = v274; }
  const unsigned v278 = (threadIdx.x % 32u) + 96u;
  const unsigned v279 = v231 + v278;
  const float v280 = s2[v279];
  const unsigned v281 = v278 / 16u;
  const unsigned v282 = v237 + v281;
  const unsigned v283 = v282 * p.n_;
  const unsigned v284 = v236 + v283;
  const unsigned v285 = v278 % 16u;
  const unsigned v286 = v242 + v285;
  const unsigned v287 = v284 + v286;
  const __half v288 = __float2half_rn(v280);
  const bool v289 = v282 < p.m_;
  const bool v290 = v286 < p.n_;
  const bool v291 = v289 && v290;
  if (v291) { c_[v287] = v288; }
  const unsigned v292 = (threadIdx.x % 32u) + 128u;
  const unsigned v293 = v231 + v292;
  const float v294 = s2[v293];
  const unsigned v295 = v292 / 16u;
  const unsigned v296 = v237 + v295;
  const unsigned v297 = v296 * p.n_;
  const unsigned v298 = v236 + v297;
  const unsigned v299 = v292 % 16u;
  const unsigned v300 = v242 + v299;
  const unsigned v301 = v298 + v300;
  const __half v302 = __float2half_rn(v294);
  const bool v303 = v296 < p.m_;
  const bool v304 = v300 < p.n_;
  const bool v305 = v303 && v304;
  if (v305) { c_[v301] = v302; }
  const unsigned v306 = (threadIdx.x % 32u) + 160u;
  const unsigned v307 = v231 + v306;
  const float v308 = s2[v307];
  const unsigned v309 = v306 / 16u;
  const unsigned v310 = v237 + v309;
  const unsigned v311 = v310 * p.n_;
  const unsigned v312 = v236 + v311;
  const unsigned v313 = v306 % 16u;
  const unsigned v314 = v242 + v313;
  const unsigned v315 = v312 + v314;
  const __half v316 = __float2half_rn(v308);
  const bool v317 = v310 < p.m_;
  const bool v318 = v314 < p.n_;
  const bool v319 = v317 && v318;
  if (v319) { c_[v315] = v316; }
  const unsigned v320 = (threadIdx.x % 32u) + 192u;
  const unsigned v321 = v231 + v320;
  const float v322 = s2[v321];
  const unsigned v323 = v320 / 16u;
  const unsigned v324 = v237 + v323;
  const unsigned v325 = v324 * p.n_;
  const unsigned v326 = v236 + v325;
  const unsigned v327 = v320 % 16u;
  const unsigned v328 = v242 + v327;
  const unsigned v329 = v326 + v328;
  const __half v330 = __float2half_rn(v322);
  const bool v331 = v324 < p.m_;
  const bool v332 = v328 < p.n_;
  const bool v333 = v331 && v332;
  if (v333) { c_[v329] = v330; }
  const unsigned v334 = (threadIdx.x % 32u) + 224u;
  const unsigned v335 = v231 + v334;
  const float v336 = s2[v335];
  const unsigned v337 = v334 / 16u;
  const unsigned v338 = v237 + v337;
  const unsigned v339 = v338 * p.n_;
  const unsigned v340 = v236 + v339;
  const unsigned v341 = v334 % 16u;
  const unsigned v342 = v242 + v341;
  const unsigned v343 = v340 + v342;
  const __half v344 = __float2half_rn(v336);
  const bool v345 = v338 < p.m_;
  const bool v346 = v342 < p.n_;
  const bool v347 = v345 && v346;
  if (v347) { c_[v343] = v344; }
  __syncthreads();
  nvcuda::wmma::store_matrix_sync(&s2[v231], t9, 16u, nvcuda::wmma::mem_row_major);
  __syncthreads();
  const float v348 = s2[v232];
  const unsigned v349 = v242 + 16u;
  const unsigned v350 = v349 + v243;
  const unsigned v351 = v241 + v350;
  const __half v352 = __float2half_rn(v348);
  const bool v353 = v350 < p.n_;
  const bool v354 = v247 && v353;
  if (v354) { c_[v351] = v352; }
  const float v355 = s2[v251];
  const unsigned v356 = v349 + v257;
  const unsigned v357 = v256 + v356;
  const __half v358 = __float2half_rn(v355);
  const bool v359 = v356 < p.n_;
  const bool v360 = v261 && v359;
  if (v360) { c_[v357] = v358; }
  const float v361 = s2[v265];
  const unsigned v362 = v349 + v271;
  const unsigned v363 = v270 + v362;
  const __half v364 = __float2half_rn(v361);
  const bool v365 = v362 < p.n_;
  const bool v366 = v275 && v365;
  if (v366) { c_[v363] = v364; }
  const float v367 = s2[v279];
  const unsigned v368 = v349 + v285;
  const unsigned v369 = v284 + v368;
  const __half v370 = __float2half_rn(v367);
  const bool v371 = v368 < p.n_;
  const bool v372 = v289 && v371;
  if (v372) { c_[v369] = v370; }
  const float v373 = s2[v293];
  const unsigned v374 = v349 + v299;
  const unsigned v375 = v298 + v374;
  const __half v376 = __float2half_rn(v373);
  const bool v377 = v374 < p.n_;
  const bool v378 = v303 && v377;
  if (v378) { c_[v375] = v376; }
  const float v379 = s2[v307];
  const unsigned v380 = v349 + v313;
  const unsigned v381 = v312 + v380;
  const __half v382 = __float2half_rn(v379);
  const bool v383 = v380 < p.n_;
  const bool v384 = v317 && v383;
  if (v384) { c_[v381] = v382; }
  const float v385 = s2[v321];
  const unsigned v386 = v349 + v327;
  const unsigned v387 = v326 + v386;
  const __half v388 = __float2half_rn(v385);
  const bool v389 = v386 < p.n_;
  const bool v390 = v331 && v389;
  if (v390) { c_[v387] = v388; }
  const float v391 = s2[v335];
  const unsigned v392 = v349 + v341;
  const unsigned v393 = v340 + v392;
  const __half v394 = __float2half_rn(v391);
  const bool v395 = v392 < p.n_;
  const bool v396 = v345 && v395;
  if (v396) { c_[v393] = v394; }
  __syncthreads();
  nvcuda::wmma::store_matrix_sync(&s2[v231], t10, 16u, nvcuda::wmma::mem_row_major);
  __syncthreads();
  const float v397 = s2[v232];
  const unsigned v398 = v242 + 32u;
  const unsigned v399 = v398 + v243;
  const unsigned v400 = v241 + v399;
  const __half v401 = __float2half_rn(v397);
  const bool v402 = v399 < p.n_;
  const bool v403 = v247 && v402;
  if (v403) { c_[v400] = v401; }
  const float v404 = s2[v251];
  const unsigned v405 = v398 + v257;
  const unsigned v406 = v256 + v405;
  const __half v407 = __float2half_rn(v404);
  const bool v408 = v405 < p.n_;
  const bool v409 = v261 && v408;
  if (v409) { c_[v406] = v407; }
  const float v410 = s2[v265];
  const unsigned v411 = v398 + v271;
  const unsigned v412 = v270 + v411;
  const __half v413 = __float2half_rn(v410);
  const bool v414 = v411 < p.n_;
  const bool v415 = v275 && v414;
  if (v415) { c_[v412] = v413; }
  const float v416 = s2[v279];
  const unsigned v417 = v398 + v285;
  const unsigned v418 = v284 + v417;
  const __half v419 = __float2half_rn(v416);
  const bool v420 = v417 < p.n_;
  const bool v421 = v289 && v420;
  if (v421) { c_[v418] = v419; }
  const float v422 = s2[v293];
  const unsigned v423 = v398 + v299;
  const unsigned v424 = v298 + v423;
  const __half v425 = __float2half_rn(v422);
  const bool v426 = v423 < p.n_;
  const bool v427 = v303 && v426;
  if (v427) { c_[v424] = v425; }
  const float v428 = s2[v307];
  const unsigned v429 = v398 + v313;
  const unsigned v430 = v312 + v429;
  const __half v431 = __float2half_rn(v428);
  const bool v432 = v429 < p.n_;
  const bool v433 = v317 && v432;
  if (v433) { c_[v430] = v431; }
  const float v434 = s2[v321];
  const unsigned v435 = v398 + v327;
  const unsigned v436 = v326 + v435;
  const __half v437 = __float2half_rn(v434);
  const bool v438 = v435 < p.n_;
  const bool v439 = v331 && v438;
  if (v439) { c_[v436] = v437; }
  const float v440 = s2[v335];
  const unsigned v441 = v398 + v341;
  const unsigned v442 = v340 + v441;
  const __half v443 = __float2half_rn(v440);
  const bool v444 = v441 < p.n_;
  const bool v445 = v345 && v444;
  if (v445) { c_[v442] = v443; }
  __syncthreads();
  nvcuda::wmma::store_matrix_sync(&s2[v231], t11, 16u, nvcuda::wmma::mem_row_major);
  __syncthreads();
  const float v446 = s2[v232];
  const unsigned v447 = v242 + 48u;
  const unsigned v448 = v447 + v243;
  const unsigned v449 = v241 + v448;
  const __half v450 = __float2half_rn(v446);
  const bool v451 = v448 < p.n_;
  const bool v452 = v247 && v451;
  if (v452) { c_[v449] = v450; }
  const float v453 = s2[v251];
  const unsigned v454 = v447 + v257;
  const unsigned v455 = v256 + v454;
  const __half v456 = __float2half_rn(v453);
  const bool v457 = v454 < p.n_;
  const bool v458 = v261 && v457;
  if (v458) { c_[v455] = v456; }
  const float v459 = s2[v265];
  const unsigned v460 = v447 + v271;
  const unsigned v461 = v270 + v460;
  const __half v462 = __float2half_rn(v459);
  const bool v463 = v460 < p.n_;
  const bool v464 = v275 && v463;
  if (v464) { c_[v461] = v462; }
  const float v465 = s2[v279];
  const unsigned v466 = v447 + v285;
  const unsigned v467 = v284 + v466;
  const __half v468 = __float2half_rn(v465);
  const bool v469 = v466 < p.n_;
  const bool v470 = v289 && v469;
  if (v470) { c_[v467] = v468; }
  const float v471 = s2[v293];
  const unsigned v472 = v447 + v299;
  const unsigned v473 = v298 + v472;
  const __half v474 = __float2half_rn(v471);
  const bool v475 = v472 < p.n_;
  const bool v476 = v303 && v475;
  if (v476) { c_[v473] = v474; }
  const float v477 = s2[v307];
  const unsigned v478 = v447 + v313;
  const unsigned v479 = v312 + v478;
  const __half v480 = __float2half_rn(v477);
  const bool v481 = v478 < p.n_;
  const bool v482 = v317 && v481;
  if (v482) { c_[v479] = v480; }
  const float v483 = s2[v321];
  const unsigned v484 = v447 + v327;
  const unsigned v485 = v326 + v484;
  const __half v486 = __float2half_rn(v483);
  const bool v487 = v484 < p.n_;
  const bool v488 = v331 && v487;
  if (v488) { c_[v485] = v486; }
  const float v489 = s2[v335];
  const unsigned v490 = v447 + v341;
  const unsigned v491 = v340 + v490;
  const __half v492 = __float2half_rn(v489);
  const bool v493 = v490 < p.n_;
  const bool v494 = v345 && v493;
  if (v494) { c_[v491] = v492; }
  __syncthreads();
  nvcuda::wmma::store_matrix_sync(&s2[v231], t12, 16u, nvcuda::wmma::mem_row_major);
  __syncthreads();
  const float v495 = s2[v232];
  const unsigned v496 = v237 + 16u;
  const unsigned v497 = v496 + v238;
  const unsigned v498 = v497 * p.n_;
  const unsigned v499 = v236 + v498;
  const unsigned v500 = v499 + v244;
  const __half v501 = __float2half_rn(v495);
  const bool v502 = v497 < p.m_;
  const bool v503 = v502 && v248;
  if (v503) { c_[v500] = v501; }
  const float v504 = s2[v251];
  const unsigned v505 = v496 + v253;
  const unsigned v506 = v505 * p.n_;
  const unsigned v507 = v236 + v506;
  const unsigned v508 = v507 + v258;
  const __half v509 = __float2half_rn(v504);
  const bool v510 = v505 < p.m_;
  const bool v511 = v510 && v262;
  if (v511) { c_[v508] = v509; }
  const float v512 = s2[v265];
  const unsigned v513 = v496 + v267;
  const unsigned v514 = v513 * p.n_;
  const unsigned v515 = v236 + v514;
  const unsigned v516 = v515 + v272;
  const __half v517 = __float2half_rn(v512);
  const bool v518 = v513 < p.m_;
  const bool v519 = v518 && v276;
  if (v519) { c_[v516] = v517; }
  const float v520 = s2[v279];
  const unsigned v521 = v496 + v281;
  const unsigned v522 = v521 * p.n_;
  const unsigned v523 = v236 + v522;
  const unsigned v524 = v523 + v286;
  const __half v525 = __float2half_rn(v520);
  const bool v526 = v521 < p.m_;
  const bool v527 = v526 && v290;
  if (v527) { c_[v524] = v525; }
  const float v528 = s2[v293];
  const unsigned v529 = v496 + v295;
  const unsigned v530 = v529 * p.n_;
  const unsigned v531 = v236 + v530;
  const unsigned v532 = v531 + v300;
  const __half v533 = __float2half_rn(v528);
  const bool v534 = v529 < p.m_;
  const bool v535 = v534 && v304;
  if (v535) { c_[v532] = v533; }
  const float v536 = s2[v307];
  const unsigned v537 = v496 + v309;
  const unsigned v538 = v537 * p.n_;
  const unsigned v539 = v236 + v538;
  const unsigned v540 = v539 + v314;
  const __half v541 = __float2half_rn(v536);
  const bool v542 = v537 < p.m_;
  const bool v543 = v542 && v318;
  if (v543) { c_[v540] = v541; }
  const float v544 = s2[v321];
  const unsigned v545 = v496 + v323;
  const unsigned v546 = v545 * p.n_;
  const unsigned v547 = v236 + v546;
  const unsigned v548 = v547 + v328;
  const __half v549 = __float2half_rn(v544);
  const bool v550 = v545 < p.m_;
  const bool v551 = v550 && v332;
  if (v551) { c_[v548] = v549; }
  const float v552 = s2[v335];
  const unsigned v553 = v496 + v337;
  const unsigned v554 = v553 * p.n_;
  const unsigned v555 = v236 + v554;
  const unsigned v556 = v555 + v342;
  const __half v557 = __float2half_rn(v552);
  const bool v558 = v553 < p.m_;
  const bool v559 = v558 && v346;
  if (v559) { c_[v556] = v557; }
  __syncthreads();
  nvcuda::wmma::store_matrix_sync(&s2[v231], t13, 16u, nvcuda::wmma::mem_row_major);
  __syncthreads();
  const float v560 = s2[v232];
  const unsigned v561 = v499 + v350;
  const __half v562 = __float2half_rn(v560);
  const bool v563 = v502 && v353;
  if (v563) { c_[v561] = v562; }
  const float v564 = s2[v251];
  const unsigned v565 = v507 + v356;
  const __half v566 = __float2half_rn(v564);
  const bool v567 = v510 && v359;
  if (v567) { c_[v565] = v566; }
  const float v568 = s2[v265];
  const unsigned v569 = v515 + v362;
  const __half v570 = __float2half_rn(v568);
  const bool v571 = v518 && v365;
  if (v571) { c_[v569] = v570; }
  const float v572 = s2[v279];
  const unsigned v573 = v523 + v368;
  const __half v574 = __float2half_rn(v572);
  const bool v575 = v526 && v371;
  if (v575) { c_[v573] = v574; }
  const float v576 = s2[v293];
  const unsigned v577 = v531 + v374;
  const __half v578 = __float2half_rn(v576);
  const bool v579 = v534 && v377;
  if (v579) { c_[v577] = v578; }
  const float v580 = s2[v307];
  const unsigned v581 = v539 + v380;
  const __half v582 = __float2half_rn(v580);
  const bool v583 = v542 && v383;
  if (v583) { c_[v581] = v582; }
  const float v584 = s2[v321];
  const unsigned v585 = v547 + v386;
  const __half v586 = __float2half_rn(v584);
  const bool v587 = v550 && v389;
  if (v587) { c_[v585] = v586; }
  const float v588 = s2[v335];
  const unsigned v589 = v555 + v392;
  const __half v590 = __float2half_rn(v588);
  const bool v591 = v558 && v395;
  if (v591) { c_[v589] = v590; }
  __syncthreads();
  nvcuda::wmma::store_matrix_sync(&s2[v231], t14, 16u, nvcuda::wmma::mem_row_major);
  __syncthreads();
  const float v592 = s2[v232];
  const unsigned v593 = v499 + v399;
  const __half v594 = __float2half_rn(v592);
  const bool v595 = v502 && v402;
  if (v595) { c_[v593] = v594; }
  const float v596 = s2[v251];
  const unsigned v597 = v507 + v405;
  const __half v598 = __float2half_rn(v596);
  const bool v599 = v510 && v408;
  if (v599) { c_[v597] = v598; }
  const float v600 = s2[v265];
  const unsigned v601 = v515 + v411;
  const __half v602 = __float2half_rn(v600);
  const bool v603 = v518 && v414;
  if (v603) { c_[v601] = v602; }
  const float v604 = s2[v279];
  const unsigned v605 = v523 + v417;
  const __half v606 = __float2half_rn(v604);
  const bool v607 = v526 && v420;
  if (v607) { c_[v605] = v606; }
  const float v608 = s2[v293];
  const unsigned v609 = v531 + v423;
  const __half v610 = __float2half_rn(v608);
  const bool v611 = v534 && v426;
  if (v611) { c_[v609] = v610; }
  const float v612 = s2[v307];
  const unsigned v613 = v539 + v429;
  const __half v614 = __float2half_rn(v612);
  const bool v615 = v542 && v432;
  if (v615) { c_[v613] = v614; }
  const float v616 = s2[v321];
  const unsigned v617 = v547 + v435;
  const __half v618 = __float2half_rn(v616);
  const bool v619 = v550 && v438;
  if (v619) { c_[v617] = v618; }
  const float v620 = s2[v335];
  const unsigned v621 = v555 + v441;
  const __half v622 = __float2half_rn(v620);
  const bool v623 = v558 && v444;
  if (v623) { c_[v621] = v622; }
  __syncthreads();
  nvcuda::wmma::store_matrix_sync(&s2[v231], t15, 16u, nvcuda::wmma::mem_row_major);
  __syncthreads();
  const float v624 = s2[v232];
  const unsigned v625 = v499 + v448;
  const __half v626 = __float2half_rn(v624);
  const bool v627 = v502 && v451;
  if (v627) { c_[v625] = v626; }
  const float v628 = s2[v251];
  const unsigned v629 = v507 + v454;
  const __half v630 = __float2half_rn(v628);
  const bool v631 = v510 && v457;
  if (v631) { c_[v629] = v630; }
  const float v632 = s2[v265];
  const unsigned v633 = v515 + v460;
  const __half v634 = __float2half_rn(v632);
  const bool v635 = v518 && v463;
  if (v635) { c_[v633] = v634; }
  const float v636 = s2[v279];
  const unsigned v637 = v523 + v466;
  const __half v638 = __float2half_rn(v636);
  const bool v639 = v526 && v469;
  if (v639) { c_[v637] = v638; }
  const float v640 = s2[v293];
  const unsigned v641 = v531 + v472;
  const __half v642 = __float2half_rn(v640);
  const bool v643 = v534 && v475;
  if (v643) { c_[v641] = v642; }
  const float v644 = s2[v307];
  const unsigned v645 = v539 + v478;
  const __half v646 = __float2half_rn(v644);
  const bool v647 = v542 && v481;
  if (v647) { c_[v645] = v646; }
  const float v648 = s2[v321];
  const unsigned v649 = v547 + v484;
  const __half v650 = __float2half_rn(v648);
  const bool v651 = v550 && v487;
  if (v651) { c_[v649] = v650; }
  const float v652 = s2[v335];
  const unsigned v653 = v555 + v490;
  const __half v654 = __float2half_rn(v652);
  const bool v655 = v558 && v493;
  if (v655) { c_[v653] = v654; }
  __syncthreads();
  nvcuda::wmma::store_matrix_sync(&s2[v231], t16, 16u, nvcuda::wmma::mem_row_major);
  __syncthreads();
  const float v656 = s2[v232];
  const unsigned v657 = v237 + 32u;
  const unsigned v658 = v657 + v238;
  const unsigned v659 = v658 * p.n_;
  const unsigned v660 = v236 + v659;
  const unsigned v661 = v660 + v244;
  const __half v662 = __float2half_rn(v656);
  const bool v663 = v658 < p.m_;
  const bool v664 = v663 && v248;
  if (v664) { c_[v661] = v662; }
  const float v665 = s2[v251];
  const unsigned v666 = v657 + v253;
  const unsigned v667 = v666 * p.n_;
  const unsigned v668 = v236 + v667;
  const unsigned v669 = v668 + v258;
  const __half v670 = __float2half_rn(v665);
  const bool v671 = v666 < p.m_;
  const bool v672 = v671 && v262;
  if (v672) { c_[v669] = v670; }
  const float v673 = s2[v265];
  const unsigned v674 = v657 + v267;
  const unsigned v675 = v674 * p.n_;
  const unsigned v676 = v236 + v675;
  const unsigned v677 = v676 + v272;
  const __half v678 = __float2half_rn(v673);
  const bool v679 = v674 < p.m_;
  const bool v680 = v679 && v276;
  if (v680) { c_[v677] = v678; }
  const float v681 = s2[v279];
  const unsigned v682 = v657 + v281;
  const unsigned v683 = v682 * p.n_;
  const unsigned v684 = v236 + v683;
  const unsigned v685 = v684 + v286;
  const __half v686 = __float2half_rn(v681);
  const bool v687 = v682 < p.m_;
  const bool v688 = v687 && v290;
  if (v688) { c_[v685] = v686; }
  const float v689 = s2[v293];
  const unsigned v690 = v657 + v295;
  const unsigned v691 = v690 * p.n_;
  const unsigned v692 = v236 + v691;
  const unsigned v693 = v692 + v300;
  const __half v694 = __float2half_rn(v689);
  const bool v695 = v690 < p.m_;
  const bool v696 = v695 && v304;
  if (v696) { c_[v693] = v694; }
  const float v697 = s2[v307];
  const unsigned v698 = v657 + v309;
  const unsigned v699 = v698 * p.n_;
  const unsigned v700 = v236 + v699;
  const unsigned v701 = v700 + v314;
  const __half v702 = __float2half_rn(v697);
  const bool v703 = v698 < p.m_;
  const bool v704 = v703 && v318;
  if (v704) { c_[v701] = v702; }
  const float v705 = s2[v321];
  const unsigned v706 = v657 + v323;
  const unsigned v707 = v706 * p.n_;
  const unsigned v708 = v236 + v707;
  const unsigned v709 = v708 + v328;
  const __half v710 = __float2half_rn(v705);
  const bool v711 = v706 < p.m_;
  const bool v712 = v711 && v332;
  if (v712) { c_[v709] = v710; }
  const float v713 = s2[v335];
  const unsigned v714 = v657 + v337;
  const unsigned v715 = v714 * p.n_;
  const unsigned v716 = v236 + v715;
  const unsigned v717 = v716 + v342;
  const __half v718 = __float2half_rn(v713);
  const bool v719 = v714 < p.m_;
  const bool v720 = v719 && v346;
  if (v720) { c_[v717] = v718; }
  __syncthreads();
  nvcuda::wmma::store_matrix_sync(&s2[v231], t17, 16u, nvcuda::wmma::mem_row_major);
  __syncthreads();
  const float v721 = s2[v232];
  const unsigned v722 = v660 + v350;
  const __half v723 = __float2half_rn(v721);
  const bool v724 = v663 && v353;
  if (v724) { c_[v722] = v723; }
  const float v725 = s2[v251];
  const unsigned v726 = v668 + v356;
  const __half v727 = __float2half_rn(v725);
  const bool v728 = v671 && v359;
  if (v728) { c_[v726] = v727; }
  const float v729 = s2[v265];
  const unsigned v730 = v676 + v362;
  const __half v731 = __float2half_rn(v729);
  const bool v732 = v679 && v365;
  if (v732) { c_[v730] = v731; }
  const float v733 = s2[v279];
  const unsigned v734 = v684 + v368;
  const __half v735 = __float2half_rn(v733);
  const bool v736 = v687 && v371;
  if (v736) { c_[v734] = v735; }
  const float v737 = s2[v293];
  const unsigned v738 = v692 + v374;
  const __half v739 = __float2half_rn(v737);
  const bool v740 = v695 && v377;
  if (v740) { c_[v738] = v739; }
  const float v741 = s2[v307];
  const unsigned v742 = v700 + v380;
  const __half v743 = __float2half_rn(v741);
  const bool v744 = v703 && v383;
  if (v744) { c_[v742] = v743; }
  const float v745 = s2[v321];
  const unsigned v746 = v708 + v386;
  const __half v747 = __float2half_rn(v745);
  const bool v748 = v711 && v389;
  if (v748) { c_[v746] = v747; }
  const float v749 = s2[v335];
  const unsigned v750 = v716 + v392;
  const __half v751 = __float2half_rn(v749);
  const bool v752 = v719 && v395;
  if (v752) { c_[v750] = v751; }
  __syncthreads();
  nvcuda::wmma::store_matrix_sync(&s2[v231], t18, 16u, nvcuda::wmma::mem_row_major);
  __syncthreads();
  const float v753 = s2[v232];
  const unsigned v754 = v660 + v399;
  const __half v755 = __float2half_rn(v753);
  const bool v756 = v663 && v402;
  if (v756) { c_[v754] = v755; }
  const float v757 = s2[v251];
  const unsigned v758 = v668 + v405;
  const __half v759 = __float2half_rn(v757);
  const bool v760 = v671 && v408;
  if (v760) { c_[v758] = v759; }
  const float v761 = s2[v265];
  const unsigned v762 = v676 + v411;
  const __half v763 = __float2half_rn(v761);
  const bool v764 = v679 && v414;
  if (v764) { c_[v762] = v763; }
  const float v765 = s2[v279];
  const unsigned v766 = v684 + v417;
  const __half v767 = __float2half_rn(v765);
  const bool v768 = v687 && v420;
  if (v768) { c_[v766] = v767; }
  const float v769 = s2[v293];
  const unsigned v770 = v692 + v423;
  const __half v771 = __float2half_rn(v769);
  const bool v772 = v695 && v426;
  if (v772) { c_[v770] = v771; }
  const float v773 = s2[v307];
  const unsigned v774 = v700 + v429;
  const __half v775 = __float2half_rn(v773);
  const bool v776 = v703 && v432;
  if (v776) { c_[v774] = v775; }
  const float v777 = s2[v321];
  const unsigned v778 = v708 + v435;
  const __half v779 = __float2half_rn(v777);
  const bool v780 = v711 && v438;
  if (v780) { c_[v778] = v779; }
  const float v781 = s2[v335];
  const unsigned v782 = v716 + v441;
  const __half v783 = __float2half_rn(v781);
  const bool v784 = v719 && v444;
  if (v784) { c_[v782] = v783; }
  __syncthreads();
  nvcuda::wmma::store_matrix_sync(&s2[v231], t19, 16u, nvcuda::wmma::mem_row_major);
  __syncthreads();
  const float v785 = s2[v232];
  const unsigned v786 = v660 + v448;
  const __half v787 = __float2half_rn(v785);
  const bool v788 = v663 && v451;
  if (v788) { c_[v786] = v787; }
  const float v789 = s2[v251];
  const unsigned v790 = v668 + v454;
  const __half v791 = __float2half_rn(v789);
  const bool v792 = v671 && v457;
  if (v792) { c_[v790] = v791; }
  const float v793 = s2[v265];
  const unsigned v794 = v676 + v460;
  const __half v795 = __float2half_rn(v793);
  const bool v796 = v679 && v463;
  if (v796) { c_[v794] = v795; }
  const float v797 = s2[v279];
  const unsigned v798 = v684 + v466;
  const __half v799 = __float2half_rn(v797);
  const bool v800 = v687 && v469;
  if (v800) { c_[v798] = v799; }
  const float v801 = s2[v293];
  const unsigned v802 = v692 + v472;
  const __half v803 = __float2half_rn(v801);
  const bool v804 = v695 && v475;
  if (v804) { c_[v802] = v803; }
  const float v805 = s2[v307];
  const unsigned v806 = v700 + v478;
  const __half v807 = __float2half_rn(v805);
  const bool v808 = v703 && v481;
  if (v808) { c_[v806] = v807; }
  const float v809 = s2[v321];
  const unsigned v810 = v708 + v484;
  const __half v811 = __float2half_rn(v809);
  const bool v812 = v711 && v487;
  if (v812) { c_[v810] = v811; }
  const float v813 = s2[v335];
  const unsigned v814 = v716 + v490;
  const __half v815 = __float2half_rn(v813);
  const bool v816 = v719 && v493;
  if (v816) { c_[v814] = v815; }
  __syncthreads();
  nvcuda::wmma::store_matrix_sync(&s2[v231], t20, 16u, nvcuda::wmma::mem_row_major);
  __syncthreads();
  const float v817 = s2[v232];
  const unsigned v818 = v237 + 48u;
  const unsigned v819 = v818 + v238;
  const unsigned v820 = v819 * p.n_;
  const unsigned v821 = v236 + v820;
  const unsigned v822 = v821 + v244;
  const __half v823 = __float2half_rn(v817);
  const bool v824 = v819 < p.m_;
  const bool v825 = v824 && v248;
  if (v825) { c_[v822] = v823; }
  const float v826 = s2[v251];
  const unsigned v827 = v818 + v253;
  const unsigned v828 = v827 * p.n_;
  const unsigned v829 = v236 + v828;
  const unsigned v830 = v829 + v258;
  const __half v831 = __float2half_rn(v826);
  const bool v832 = v827 < p.m_;
  const bool v833 = v832 && v262;
  if (v833) { c_[v830] = v831; }
  const float v834 = s2[v265];
  const unsigned v835 = v818 + v267;
  const unsigned v836 = v835 * p.n_;
  const unsigned v837 = v236 + v836;
  const unsigned v838 = v837 + v272;
  const __half v839 = __float2half_rn(v834);
  const bool v840 = v835 < p.m_;
  const bool v841 = v840 && v276;
  if (v841) { c_[v838] = v839; }
  const float v842 = s2[v279];
  const unsigned v843 = v818 + v281;
  const unsigned v844 = v843 * p.n_;
  const unsigned v845 = v236 + v844;
  const unsigned v846 = v845 + v286;
  const __half v847 = __float2half_rn(v842);
  const bool v848 = v843 < p.m_;
  const bool v849 = v848 && v290;
  if (v849) { c_[v846] = v847; }
  const float v850 = s2[v293];
  const unsigned v851 = v818 + v295;
  const unsigned v852 = v851 * p.n_;
  const unsigned v853 = v236 + v852;
  const unsigned v854 = v853 + v300;
  const __half v855 = __float2half_rn(v850);
  const bool v856 = v851 < p.m_;
  const bool v857 = v856 && v304;
  if (v857) { c_[v854] = v855; }
  const float v858 = s2[v307];
  const unsigned v859 = v818 + v309;
  const unsigned v860 = v859 * p.n_;
  const unsigned v861 = v236 + v860;
  const unsigned v862 = v861 + v314;
  const __half v863 = __float2half_rn(v858);
  const bool v864 = v859 < p.m_;
  const bool v865 = v864 && v318;
  if (v865) { c_[v862] = v863; }
  const float v866 = s2[v321];
  const unsigned v867 = v818 + v323;
  const unsigned v868 = v867 * p.n_;
  const unsigned v869 = v236 + v868;
  const unsigned v870 = v869 + v328;
  const __half v871 = __float2half_rn(v866);
  const bool v872 = v867 < p.m_;
  const bool v873 = v872 && v332;
  if (v873) { c_[v870] = v871; }
  const float v874 = s2[v335];
  const unsigned v875 = v818 + v337;
  const unsigned v876 = v875 * p.n_;
  const unsigned v877 = v236 + v876;
  const unsigned v878 = v877 + v342;
  const __half v879 = __float2half_rn(v874);
  const bool v880 = v875 < p.m_;
  const bool v881 = v880 && v346;
  if (v881) { c_[v878] = v879; }
  __syncthreads();
  nvcuda::wmma::store_matrix_sync(&s2[v231], t21, 16u, nvcuda::wmma::mem_row_major);
  __syncthreads();
  const float v882 = s2[v232];
  const unsigned v883 = v821 + v350;
  const __half v884 = __float2half_rn(v882);
  const bool v885 = v824 && v353;
  if (v885) { c_[v883] = v884; }
  const float v886 = s2[v251];
  const unsigned v887 = v829 + v356;
  const __half v888 = __float2half_rn(v886);
  const bool v889 = v832 && v359;
  if (v889) { c_[v887] = v888; }
  const float v890 = s2[v265];
  const unsigned v891 = v837 + v362;
  const __half v892 = __float2half_rn(v890);
  const bool v893 = v840 && v365;
  if (v893) { c_[v891] = v892; }
  const float v894 = s2[v279];
  const unsigned v895 = v845 + v368;
  const __half v896 = __float2half_rn(v894);
  const bool v897 = v848 && v371;
  if (v897) { c_[v895] = v896; }
  const float v898 = s2[v293];
  const unsigned v899 = v853 + v374;
  const __half v900 = __float2half_rn(v898);
  const bool v901 = v856 && v377;
  if (v901) { c_[v899] = v900; }
  const float v902 = s2[v307];
  const unsigned v903 = v861 + v380;
  const __half v904 = __float2half_rn(v902);
  const bool v905 = v864 && v383;
  if (v905) { c_[v903] = v904; }
  const float v906 = s2[v321];
  const unsigned v907 = v869 + v386;
  const __half v908 = __float2half_rn(v906);
  const bool v909 = v872 && v389;
  if (v909) { c_[v907] = v908; }
  const float v910 = s2[v335];
  const unsigned v911 = v877 + v392;
  const __half v912 = __float2half_rn(v910);
  const bool v913 = v880 && v395;
  if (v913) { c_[v911] = v912; }
  __syncthreads();
  nvcuda::wmma::store_matrix_sync(&s2[v231], t22, 16u, nvcuda::wmma::mem_row_major);
  __syncthreads();
  const float v914 = s2[v232];
  const unsigned v915 = v821 + v399;
  const __half v916 = __float2half_rn(v914);
  const bool v917 = v824 && v402;
  if (v917) { c_[v915] = v916; }
  const float v918 = s2[v251];
  const unsigned v919 = v829 + v405;
  const __half v920 = __float2half_rn(v918);
  const bool v921 = v832 && v408;
  if (v921) { c_[v919] = v920; }
  const float v922 = s2[v265];
  const unsigned v923 = v837 + v411;
  const __half v924 = __float2half_rn(v922);
  const bool v925 = v840 && v414;
  if (v925) { c_[v923] = v924; }
  const float v926 = s2[v279];
  const unsigned v927 = v845 + v417;
  const __half v928 = __float2half_rn(v926);
  const bool v929 = v848 && v420;
  if (v929) { c_[v927] = v928; }
  const float v930 = s2[v293];
  const unsigned v931 = v853 + v423;
  const __half v932 = __float2half_rn(v930);
  const bool v933 = v856 && v426;
  if (v933) { c_[v931] = v932; }
  const float v934 = s2[v307];
  const unsigned v935 = v861 + v429;
  const __half v936 = __float2half_rn(v934);
  const bool v937 = v864 && v432;
  if (v937) { c_[v935] = v936; }
  const float v938 = s2[v321];
  const unsigned v939 = v869 + v435;
  const __half v940 = __float2half_rn(v938);
  const bool v941 = v872 && v438;
  if (v941) { c_[v939] = v940; }
  const float v942 = s2[v335];
  const unsigned v943 = v877 + v441;
  const __half v944 = __float2half_rn(v942);
  const bool v945 = v880 && v444;
  if (v945) { c_[v943] = v944; }
  __syncthreads();
  nvcuda::wmma::store_matrix_sync(&s2[v231], t23, 16u, nvcuda::wmma::mem_row_major);
  __syncthreads();
  const float v946 = s2[v232];
  const unsigned v947 = v821 + v448;
  const __half v948 = __float2half_rn(v946);
  const bool v949 = v824 && v451;
  if (v949) { c_[v947] = v948; }
  const float v950 = s2[v251];
  const unsigned v951 = v829 + v454;
  const __half v952 = __float2half_rn(v950);
  const bool v953 = v832 && v457;
  if (v953) { c_[v951] = v952; }
  const float v954 = s2[v265];
  const unsigned v955 = v837 + v460;
  const __half v956 = __float2half_rn(v954);
  const bool v957 = v840 && v463;
  if (v957) { c_[v955] = v956; }
  const float v958 = s2[v279];
  const unsigned v959 = v845 + v466;
  const __half v960 = __float2half_rn(v958);
  const bool v961 = v848 && v469;
  if (v961) { c_[v959] = v960; }
  const float v962 = s2[v293];
  const unsigned v963 = v853 + v472;
  const __half v964 = __float2half_rn(v962);
  const bool v965 = v856 && v475;
  if (v965) { c_[v963] = v964; }
  const float v966 = s2[v307];
  const unsigned v967 = v861 + v478;
  const __half v968 = __float2half_rn(v966);
  const bool v969 = v864 && v481;
  if (v969) { c_[v967] = v968; }
  const float v970 = s2[v321];
  const unsigned v971 = v869 + v484;
  const __half v972 = __float2half_rn(v970);
  const bool v973 = v872 && v487;
  if (v973) { c_[v971] = v972; }
  const float v974 = s2[v335];
  const unsigned v975 = v877 + v490;
  const __half v976 = __float2half_rn(v974);
  const bool v977 = v880 && v493;
  if (v977) { c_[v975] = v976; }
  __syncthreads();
}
