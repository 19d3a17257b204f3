struct Params { unsigned rows_; unsigned columns_; unsigned offset_; unsigned extent_; unsigned outer_stride_; unsigned inner_stride_; unsigned step_; unsigned parts_; unsigned part_; unsigned first_; };
extern "C" __global__ void __launch_bounds__(256) wick_softmax_f32(const float* __restrict__ x_, float* __restrict__ y_, const Params p) {
  alignas(16) __shared__ float s0[256];
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  const unsigned v0 = blockIdx.y * gridDim.x;
  const unsigned v1 = v0 + blockIdx.x;
  const unsigned v2 = p.rows_ * p.parts_;
  const bool v3 = v1 < v2;
  const bool v4 = threadIdx.x < 128u;
  const unsigned v5 = threadIdx.x + 128u;
  const bool v6 = threadIdx.x < 64u;
  const unsigned v7 = threadIdx.x + 64u;
  const bool v8 = threadIdx.x < 32u;
  const unsigned v9 = threadIdx.x + 32u;
  const bool v10 = threadIdx.x < 16u;
  const unsigned v11 = threadIdx.x + 16u;
  const bool v12 = threadIdx.x < 8u;
  const unsigned v13 = threadIdx.x + 8u;
  const bool v14 = threadIdx.x < 4u;
  const unsigned v15 = threadIdx.x + 4u;
  const bool v16 = threadIdx.x < 2u;
  const unsigned v17 = threadIdx.x + 2u;
  const bool v18 = threadIdx.x < 1u;
  const unsigned v19 = threadIdx.x + 1u;
  const unsigned v20 = v1 * p.columns_;
  const unsigned v21 = p.first_ + v20;
  if (v3) {
    float a0 = (-0x1.fffffep+127f);
    const unsigned v22 = v1 % p.parts_;
    const unsigned v23 = v22 * p.part_;
    const unsigned v24 = v23 + threadIdx.x;
    const unsigned v25 = v23 + p.part_;
    const unsigned v26 = v25 < p.columns_ ? v25 : p.columns_;
    for (unsigned i0 = v24; i0 < v26; i0 += 256u) {
      const float v27 = a0;
      const unsigned v28 = v1 / p.parts_;
      const unsigned v29 = v28 / p.extent_;
      const unsigned v30 = v29 * p.outer_stride_;
      const unsigned v31 = p.offset_ + v30;
      const unsigned v32 = v28 % p.extent_;
      const unsigned v33 = v32 * p.inner_stride_;
      const unsigned v34 = v31 + v33;
      const unsigned v35 = i0 * p.step_;
      const unsigned v36 = v34 + v35;
      const float v37 = x_[v36];
      const float v38 = fmaxf(v27, v37);
      a0 = v38;
    }
    const float v39 = a0;
    __syncthreads();
    s0[threadIdx.x] = v39;
    __syncthreads();
    if (v4) {
      const float v40 = s0[v5];
      const float v41 = s0[threadIdx.x];
      const float v42 = fmaxf(v41, v40);
      s0[threadIdx.x] = v42;
    }
    __syncthreads();
    if (v6) {
      const float v43 = s0[v7];
      const float v44 = s0[threadIdx.x];
      const float v45 = fmaxf(v44, v43);
      s0[threadIdx.x] = v45;
    }
    __syncthreads();
    if (v8) {
      const float v46 = s0[threadIdx.x];
      const float v47 = s0[v9];
      const float v48 = fmaxf(v46, v47);
      s0[threadIdx.x] = v48;
    }
    __syncthreads();
    if (v10) {
      const float v49 = s0[v11];
      const float v50 = s0[threadIdx.x];
      const float v51 = fmaxf(v50, v49);
      s0[threadIdx.x] = v51;
    }
    __syncthreads();
    if (v12) {
      const float v52 = s0[threadIdx.x];
      const float v53 = s0[v13];
      const float v54 = fmaxf(v52, v53);
      s0[threadIdx.x] = v54;
    }
    __syncthreads();
    if (v14) {
      const float v55 = s0[v15];
      const float v56 = s0[threadIdx.x];
      const float v57 = fmaxf(v56, v55);
      s0[threadIdx.x] = v57;
    }
    __syncthreads();
    if (v16) {
      const float v58 = s0[v17];
      const float v59 = s0[threadIdx.x];
      const float v60 = fmaxf(v59, v58);
      s0[threadIdx.x] = v60;
    }
    __syncthreads();
    if (v18) {
      const float v61 = s0[threadIdx.x];
      const float v62 = s0[v19];
      const float v63 = fmaxf(v61, v62);
      s0[threadIdx.x] = v63;
    }
    __syncthreads();
    const float v64 = s0[0u];
    float a1 = 0x0p+0f;
    for (unsigned i1 = v24; i1 < v26; i1 += 256u) {
      const unsigned v65 = v1 / p.parts_;
      const unsigned v66 = v65 / p.extent_;
      const unsigned v67 = v66 * p.outer_stride_;
      const unsigned v68 = p.offset_ + v67;
      const unsigned v69 = v65 % p.extent_;
      const unsigned v70 = v69 * p.inner_stride_;
      const unsigned v71 = v68 + v70;
      const unsigned v72 = i1 * p.step_;
      const unsigned v73 = v71 + v72;
      const float v74 = x_[v73];
      const float v75 = a1;
      const float v76 = __fsub_rn(v74, v64);
      const float v77 = __fmul_rn(v76, 0x1.715476p+0f);
      const float v78 = exp2f(v77);
      const float v79 = __fadd_rn(v75, v78);
      a1 = v79;
    }
    const float v80 = a1;
    __syncthreads();
    s0[threadIdx.x] = v80;
    __syncthreads();
    if (v4) {
      const float v81 = s0[v5];
      const float v82 = s0[threadIdx.x];
      const float v83 = __fadd_rn(v82, v81);
      s0[threadIdx.x] = v83;
    }
    __syncthreads();
    if (v6) {
      const float v84 = s0[threadIdx.x];
      const float v85 = s0[v7];
      const float v86 = __fadd_rn(v84, v85);
      s0[threadIdx.x] = v86;
    }
    __syncthreads();
    if (v8) {
      const float v87 = s0[v9];
      const float v88 = s0[threadIdx.x];
      const float v89 = __fadd_rn(v88, v87);
      s0[threadIdx.x] = v89;
    }
    __syncthreads();
    if (v10) {
      const float v90 = s0[v11];
      const float v91 = s0[threadIdx.x];
      const float v92 = __fadd_rn(v91, v90);
      s0[threadIdx.x] = v92;
    }
    __syncthreads();
    if (v12) {
      const float v93 = s0[v13];
      const float v94 = s0[threadIdx.x];
      const float v95 = __fadd_rn(v94, v93);
      s0[threadIdx.x] = v95;
    }
    __syncthreads();
    if (v14) {
      const float v96 = s0[v15];
      const float v97 = s0[threadIdx.x];
      const float v98 = __fadd_rn(v97, v96);
      s0[threadIdx.x] = v98;
    }
    __syncthreads();
    if (v16) {
      const float v99 = s0[v17];
      const float v100 = s0[threadIdx.x];
      const float v101 = __fadd_rn(v100, v99);
      s0[threadIdx.x] = v101;
    }
    __syncthreads();
    if (v18) {
      const float v102 = s0[v19];
      const float v103 = s0[threadIdx.x];
      const float v104 = __fadd_rn(v103, v102);
      s0[threadIdx.x] = v104;
    }
    __syncthreads();
    const float v105 = s0[0u];
    for (unsigned i2 = v24; i2 < v26; i2 += 256u) {
      const unsigned v106 = v1 / p.parts_;
      const unsigned v107 = v106 / p.extent_;
      const unsigned v108 = v107 * p.outer_stride_;
      const unsigned v109 = p.offset_ + v108;
      const unsigned v110 = v106 % p.extent_;
      const unsigned v111 = v110 * p.inner_stride_;
      const unsigned v112 = v109 + v111;
      const unsigned v113 = i2 * p.step_;
      const unsigned v114 = v112 + v113;
      const float v115 = x_[v114];
      const unsigned v116 = v21 + i2;
      const float v117 = __fsub_rn(v115, v64);
      const float v118 = __fmul_rn(v117, 0x1.715476p+0f);
      const float v119 = exp2f(v118);
      const float v120 = __fdiv_rn(v119, v105);
      y_[v116] = v120;
    }
  }
}
