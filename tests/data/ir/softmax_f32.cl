#pragma OPENCL FP_CONTRACT OFF
typedef struct { uint columns_; } Params;
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void wick_softmax_f32(__global const float* restrict x_, __global float* restrict y_, const Params p) {
  __local float s0[256] __attribute__((aligned(16)));
  float a0 = (-0x1.fffffep+127f);
  const uint v0 = (uint)get_group_id(1) * (uint)get_num_groups(0);
  const uint v1 = v0 + (uint)get_group_id(0);
  const uint v2 = v1 * p.columns_;
  for (uint i0 = (uint)get_local_id(0); i0 < p.columns_; i0 += 256u) {
    const float v3 = a0;
    const uint v4 = v2 + i0;
    const float v5 = x_[v4];
    const float v6 = fmax(v3, v5);
    a0 = v6;
  }
  const float v7 = a0;
  barrier(CLK_LOCAL_MEM_FENCE);
  s0[(uint)get_local_id(0)] = v7;
  barrier(CLK_LOCAL_MEM_FENCE);
  const bool v8 = (uint)get_local_id(0) < 128u;
  const uint v9 = (uint)get_local_id(0) + 128u;
  if (v8) {
    const float v10 = s0[(uint)get_local_id(0)];
    const float v11 = s0[v9];
    const float v12 = fmax(v10, v11);
    s0[(uint)get_local_id(0)] = v12;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const bool v13 = (uint)get_local_id(0) < 64u;
  const uint v14 = (uint)get_local_id(0) + 64u;
  if (v13) {
    const float v15 = s0[(uint)get_local_id(0)];
    const float v16 = s0[v14];
    const float v17 = fmax(v15, v16);
    s0[(uint)get_local_id(0)] = v17;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const bool v18 = (uint)get_local_id(0) < 32u;
  const uint v19 = (uint)get_local_id(0) + 32u;
  if (v18) {
    const float v20 = s0[(uint)get_local_id(0)];
    const float v21 = s0[v19];
    const float v22 = fmax(v20, v21);
    s0[(uint)get_local_id(0)] = v22;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const bool v23 = (uint)get_local_id(0) < 16u;
  const uint v24 = (uint)get_local_id(0) + 16u;
  if (v23) {
    const float v25 = s0[v24];
    const float v26 = s0[(uint)get_local_id(0)];
    const float v27 = fmax(v26, v25);
    s0[(uint)get_local_id(0)] = v27;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const bool v28 = (uint)get_local_id(0) < 8u;
  const uint v29 = (uint)get_local_id(0) + 8u;
  if (v28) {
    const float v30 = s0[v29];
    const float v31 = s0[(uint)get_local_id(0)];
    const float v32 = fmax(v31, v30);
    s0[(uint)get_local_id(0)] = v32;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const bool v33 = (uint)get_local_id(0) < 4u;
  const uint v34 = (uint)get_local_id(0) + 4u;
  if (v33) {
    const float v35 = s0[v34];
    const float v36 = s0[(uint)get_local_id(0)];
    const float v37 = fmax(v36, v35);
    s0[(uint)get_local_id(0)] = v37;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const bool v38 = (uint)get_local_id(0) < 2u;
  const uint v39 = (uint)get_local_id(0) + 2u;
  if (v38) {
    const float v40 = s0[(uint)get_local_id(0)];
    const float v41 = s0[v39];
    const float v42 = fmax(v40, v41);
    s0[(uint)get_local_id(0)] = v42;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const bool v43 = (uint)get_local_id(0) < 1u;
  const uint v44 = (uint)get_local_id(0) + 1u;
  if (v43) {
    const float v45 = s0[v44];
    const float v46 = s0[(uint)get_local_id(0)];
    const float v47 = fmax(v46, v45);
    s0[(uint)get_local_id(0)] = v47;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const float v48 = s0[0u];
  float a1 = 0x0p+0f;
  for (uint i1 = (uint)get_local_id(0); i1 < p.columns_; i1 += 256u) {
    const float v49 = a1;
    const uint v50 = v2 + i1;
    const float v51 = x_[v50];
    const float v52 = v51 - v48;
    const float v53 = v52 * 0x1.715476p+0f;
    const float v54 = exp2(v53);
    const float v55 = v49 + v54;
    a1 = v55;
  }
  const float v56 = a1;
  barrier(CLK_LOCAL_MEM_FENCE);
  s0[(uint)get_local_id(0)] = v56;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (v8) {
    const float v57 = s0[(uint)get_local_id(0)];
    const float v58 = s0[v9];
    const float v59 = v57 + v58;
    s0[(uint)get_local_id(0)] = v59;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (v13) {
    const float v60 = s0[(uint)get_local_id(0)];
    const float v61 = s0[v14];
    const float v62 = v60 + v61;
    s0[(uint)get_local_id(0)] = v62;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (v18) {
    const float v63 = s0[(uint)get_local_id(0)];
    const float v64 = s0[v19];
    const float v65 = v63 + v64;
    s0[(uint)get_local_id(0)] = v65;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (v23) {
    const float v66 = s0[v24];
    const float v67 = s0[(uint)get_local_id(0)];
    const float v68 = v67 + v66;
    s0[(uint)get_local_id(0)] = v68;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (v28) {
    const float v69 = s0[(uint)get_local_id(0)];
    const float v70 = s0[v29];
    const float v71 = v69 + v70;
    s0[(uint)get_local_id(0)] = v71;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (v33) {
    const float v72 = s0[(uint)get_local_id(0)];
    const float v73 = s0[v34];
    const float v74 = v72 + v73;
    s0[(uint)get_local_id(0)] = v74;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (v38) {
    const float v75 = s0[(uint)get_local_id(0)];
    const float v76 = s0[v39];
    const float v77 = v75 + v76;
    s0[(uint)get_local_id(0)] = v77;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (v43) {
    const float v78 = s0[v44];
    const float v79 = s0[(uint)get_local_id(0)];
    const float v80 = v79 + v78;
    s0[(uint)get_local_id(0)] = v80;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const float v81 = s0[0u];
  for (uint i2 = (uint)get_local_id(0); i2 < p.columns_; i2 += 256u) {
    const uint v82 = v2 + i2;
    const float v83 = x_[v82];
    const float v84 = v83 - v48;
    const float v85 = v84 * 0x1.715476p+0f;
    const float v86 = exp2(v85);
    const float v87 = v86 / v81;
    y_[v82] = v87;
  }
}
