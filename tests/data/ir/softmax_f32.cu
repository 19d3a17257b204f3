struct Params { unsigned columns_; };
extern "C" __global__ void __launch_bounds__(256) wick_softmax_f32(const float* __restrict__ x_, float* __restrict__ y_, const Params p) {
  alignas(16) __shared__ float s0[256];
  float a0 = (-0x1.fffffep+127f);
  const unsigned v0 = blockIdx.y * gridDim.x;
  const unsigned v1 = v0 + blockIdx.x;
  const unsigned v2 = v1 * p.columns_;
  for (unsigned i0 = threadIdx.x; i0 < p.columns_; i0 += 256u) {
    const float v3 = a0;
    const unsigned v4 = v2 + i0;
    const float v5 = x_[v4];
    const float v6 = fmaxf(v3, v5);
    a0 = v6;
  }
  const float v7 = a0;
  __syncthreads();
  s0[threadIdx.x] = v7;
  __syncthreads();
  const bool v8 = threadIdx.x < 128u;
  const unsigned v9 = threadIdx.x + 128u;
  if (v8) {
    const float v10 = s0[threadIdx.x];
    const float v11 = s0[v9];
    const float v12 = fmaxf(v10, v11);
    s0[threadIdx.x] = v12;
  }
  __syncthreads();
  const bool v13 = threadIdx.x < 64u;
  const unsigned v14 = threadIdx.x + 64u;
  if (v13) {
    const float v15 = s0[threadIdx.x];
    const float v16 = s0[v14];
    const float v17 = fmaxf(v15, v16);
    s0[threadIdx.x] = v17;
  }
  __syncthreads();
  const bool v18 = threadIdx.x < 32u;
  const unsigned v19 = threadIdx.x + 32u;
  if (v18) {
    const float v20 = s0[threadIdx.x];
    const float v21 = s0[v19];
    const float v22 = fmaxf(v20, v21);
    s0[threadIdx.x] = v22;
  }
  __syncthreads();
  const bool v23 = threadIdx.x < 16u;
  const unsigned v24 = threadIdx.x + 16u;
  if (v23) {
    const float v25 = s0[v24];
    const float v26 = s0[threadIdx.x];
    const float v27 = fmaxf(v26, v25);
    s0[threadIdx.x] = v27;
  }
  __syncthreads();
  const bool v28 = threadIdx.x < 8u;
  const unsigned v29 = threadIdx.x + 8u;
  if (v28) {
    const float v30 = s0[v29];
    const float v31 = s0[threadIdx.x];
    const float v32 = fmaxf(v31, v30);
    s0[threadIdx.x] = v32;
  }
  __syncthreads();
  const bool v33 = threadIdx.x < 4u;
  const unsigned v34 = threadIdx.x + 4u;
  if (v33) {
    const float v35 = s0[v34];
    const float v36 = s0[threadIdx.x];
    const float v37 = fmaxf(v36, v35);
    s0[threadIdx.x] = v37;
  }
  __syncthreads();
  const bool v38 = threadIdx.x < 2u;
  const unsigned v39 = threadIdx.x + 2u;
  if (v38) {
    const float v40 = s0[threadIdx.x];
    const float v41 = s0[v39];
    const float v42 = fmaxf(v40, v41);
    s0[threadIdx.x] = v42;
  }
  __syncthreads();
  const bool v43 = threadIdx.x < 1u;
  const unsigned v44 = threadIdx.x + 1u;
  if (v43) {
    const float v45 = s0[v44];
    const float v46 = s0[threadIdx.x];
    const float v47 = fmaxf(v46, v45);
    s0[threadIdx.x] = v47;
  }
  __syncthreads();
  const float v48 = s0[0u];
  float a1 = 0x0p+0f;
  for (unsigned i1 = threadIdx.x; i1 < p.columns_; i1 += 256u) {
    const float v49 = a1;
    const unsigned v50 = v2 + i1;
    const float v51 = x_[v50];
    const float v52 = __fsub_rn(v51, v48);
    const float v53 = __fmul_rn(v52, 0x1.715476p+0f);
    const float v54 = exp2f(v53);
    const float v55 = __fadd_rn(v49, v54);
    a1 = v55;
  }
  const float v56 = a1;
  __syncthreads();
  s0[threadIdx.x] = v56;
  __syncthreads();
  if (v8) {
    const float v57 = s0[threadIdx.x];
    const float v58 = s0[v9];
    const float v59 = __fadd_rn(v57, v58);
    s0[threadIdx.x] = v59;
  }
  __syncthreads();
  if (v13) {
    const float v60 = s0[threadIdx.x];
    const float v61 = s0[v14];
    const float v62 = __fadd_rn(v60, v61);
    s0[threadIdx.x] = v62;
  }
  __syncthreads();
  if (v18) {
    const float v63 = s0[threadIdx.x];
    const float v64 = s0[v19];
    const float v65 = __fadd_rn(v63, v64);
    s0[threadIdx.x] = v65;
  }
  __syncthreads();
  if (v23) {
    const float v66 = s0[v24];
    const float v67 = s0[threadIdx.x];
    const float v68 = __fadd_rn(v67, v66);
    s0[threadIdx.x] = v68;
  }
  __syncthreads();
  if (v28) {
    const float v69 = s0[threadIdx.x];
    const float v70 = s0[v29];
    const float v71 = __fadd_rn(v69, v70);
    s0[threadIdx.x] = v71;
  }
  __syncthreads();
  if (v33) {
    const float v72 = s0[threadIdx.x];
    const float v73 = s0[v34];
    const float v74 = __fadd_rn(v72, v73);
    s0[threadIdx.x] = v74;
  }
  __syncthreads();
  if (v38) {
    const float v75 = s0[threadIdx.x];
    const float v76 = s0[v39];
    const float v77 = __fadd_rn(v75, v76);
    s0[threadIdx.x] = v77;
  }
  __syncthreads();
  if (v43) {
    const float v78 = s0[v44];
    const float v79 = s0[threadIdx.x];
    const float v80 = __fadd_rn(v79, v78);
    s0[threadIdx.x] = v80;
  }
  __syncthreads();
  const float v81 = s0[0u];
  for (unsigned i2 = threadIdx.x; i2 < p.columns_; i2 += 256u) {
    const unsigned v82 = v2 + i2;
    const float v83 = x_[v82];
    const float v84 = __fsub_rn(v83, v48);
    const float v85 = __fmul_rn(v84, 0x1.715476p+0f);
    const float v86 = exp2f(v85);
    const float v87 = __fdiv_rn(v86, v81);
    y_[v82] = v87;
  }
}
