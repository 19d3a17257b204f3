#pragma OPENCL FP_CONTRACT OFF
typedef struct { uint rows_; uint columns_; uint offset_; uint extent_; uint outer_stride_; uint inner_stride_; uint step_; uint parts_; uint part_; uint first_; } Params;
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void wick_softmax_f32(__global const float* restrict x_, __global float* restrict y_, const Params p) {
  __local float s0[256] __attribute__((aligned(16)));
  const uint v0 = (uint)get_group_id(1) * (uint)get_num_groups(0);
  const uint v1 = v0 + (uint)get_group_id(0);
  const uint v2 = p.rows_ * p.parts_;
  const bool v3 = v1 < v2;
  const bool v4 = (uint)get_local_id(0) < 128u;
  const uint v5 = (uint)get_local_id(0) + 128u;
  const bool v6 = (uint)get_local_id(0) < 64u;
  const uint v7 = (uint)get_local_id(0) + 64u;
  const bool v8 = (uint)get_local_id(0) < 32u;
  const uint v9 = (uint)get_local_id(0) + 32u;
  const bool v10 = (uint)get_local_id(0) < 16u;
  const uint v11 = (uint)get_local_id(0) + 16u;
  const bool v12 = (uint)get_local_id(0) < 8u;
  const uint v13 = (uint)get_local_id(0) + 8u;
  const bool v14 = (uint)get_local_id(0) < 4u;
  const uint v15 = (uint)get_local_id(0) + 4u;
  const bool v16 = (uint)get_local_id(0) < 2u;
  const uint v17 = (uint)get_local_id(0) + 2u;
  const bool v18 = (uint)get_local_id(0) < 1u;
  const uint v19 = (uint)get_local_id(0) + 1u;
  const uint v20 = v1 * p.columns_;
  const uint v21 = p.first_ + v20;
  if (v3) {
    float a0 = (-0x1.fffffep+127f);
    const uint v22 = v1 % p.parts_;
    const uint v23 = v22 * p.part_;
    const uint v24 = v23 + (uint)get_local_id(0);
    const uint v25 = v23 + p.part_;
    const uint v26 = min(v25, p.columns_);
    for (uint i0 = v24; i0 < v26; i0 += 256u) {
      const float v27 = a0;
      const uint v28 = v1 / p.parts_;
      const uint v29 = v28 / p.extent_;
      const uint v30 = v29 * p.outer_stride_;
      const uint v31 = p.offset_ + v30;
      const uint v32 = v28 % p.extent_;
      const uint v33 = v32 * p.inner_stride_;
      const uint v34 = v31 + v33;
      const uint v35 = i0 * p.step_;
      const uint v36 = v34 + v35;
      const float v37 = x_[v36];
      const float v38 = fmax(v27, v37);
      a0 = v38;
    }
    const float v39 = a0;
    barrier(CLK_LOCAL_MEM_FENCE);
    s0[(uint)get_local_id(0)] = v39;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v4) {
      const float v40 = s0[v5];
      const float v41 = s0[(uint)get_local_id(0)];
      const float v42 = fmax(v41, v40);
      s0[(uint)get_local_id(0)] = v42;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v6) {
      const float v43 = s0[v7];
      const float v44 = s0[(uint)get_local_id(0)];
      const float v45 = fmax(v44, v43);
      s0[(uint)get_local_id(0)] = v45;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v8) {
      const float v46 = s0[(uint)get_local_id(0)];
      const float v47 = s0[v9];
      const float v48 = fmax(v46, v47);
      s0[(uint)get_local_id(0)] = v48;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v10) {
      const float v49 = s0[v11];
      const float v50 = s0[(uint)get_local_id(0)];
      const float v51 = fmax(v50, v49);
      s0[(uint)get_local_id(0)] = v51;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v12) {
      const float v52 = s0[(uint)get_local_id(0)];
      const float v53 = s0[v13];
      const float v54 = fmax(v52, v53);
      s0[(uint)get_local_id(0)] = v54;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v14) {
      const float v55 = s0[v15];
      const float v56 = s0[(uint)get_local_id(0)];
      const float v57 = fmax(v56, v55);
      s0[(uint)get_local_id(0)] = v57;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v16) {
      const float v58 = s0[v17];
      const float v59 = s0[(uint)get_local_id(0)];
      const float v60 = fmax(v59, v58);
      s0[(uint)get_local_id(0)] = v60;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v18) {
      const float v61 = s0[(uint)get_local_id(0)];
      const float v62 = s0[v19];
      const float v63 = fmax(v61, v62);
      s0[(uint)get_local_id(0)] = v63;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const float v64 = s0[0u];
    float a1 = 0x0p+0f;
    for (uint i1 = v24; i1 < v26; i1 += 256u) {
      const uint v65 = v1 / p.parts_;
      const uint v66 = v65 / p.extent_;
      const uint v67 = v66 * p.outer_stride_;
      const uint v68 = p.offset_ + v67;
      const uint v69 = v65 % p.extent_;
      const uint v70 = v69 * p.inner_stride_;
      const uint v71 = v68 + v70;
      const uint v72 = i1 * p.step_;
      const uint v73 = v71 + v72;
      const float v74 = x_[v73];
      const float v75 = a1;
      const float v76 = v74 - v64;
      const float v77 = v76 * 0x1.715476p+0f;
      const float v78 = exp2(v77);
      const float v79 = v75 + v78;
      a1 = v79;
    }
    const float v80 = a1;
    barrier(CLK_LOCAL_MEM_FENCE);
    s0[(uint)get_local_id(0)] = v80;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v4) {
      const float v81 = s0[v5];
      const float v82 = s0[(uint)get_local_id(0)];
      const float v83 = v82 + v81;
      s0[(uint)get_local_id(0)] = v83;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v6) {
      const float v84 = s0[(uint)get_local_id(0)];
      const float v85 = s0[v7];
      const float v86 = v84 + v85;
      s0[(uint)get_local_id(0)] = v86;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v8) {
      const float v87 = s0[v9];
      const float v88 = s0[(uint)get_local_id(0)];
      const float v89 = v88 + v87;
      s0[(uint)get_local_id(0)] = v89;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v10) {
      const float v90 = s0[v11];
      const float v91 = s0[(uint)get_local_id(0)];
      const float v92 = v91 + v90;
      s0[(uint)get_local_id(0)] = v92;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v12) {
      const float v93 = s0[v13];
      const float v94 = s0[(uint)get_local_id(0)];
      const float v95 = v94 + v93;
      s0[(uint)get_local_id(0)] = v95;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v14) {
      const float v96 = s0[v15];
      const float v97 = s0[(uint)get_local_id(0)];
      const float v98 = v97 + v96;
      s0[(uint)get_local_id(0)] = v98;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v16) {
      const float v99 = s0[v17];
      const float v100 = s0[(uint)get_local_id(0)];
      const float v101 = v100 + v99;
      s0[(uint)get_local_id(0)] = v101;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v18) {
      const float v102 = s0[v19];
      const float v103 = s0[(uint)get_local_id(0)];
      const float v104 = v103 + v102;
      s0[(uint)get_local_id(0)] = v104;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const float v105 = s0[0u];
    for (uint i2 = v24; i2 < v26; i2 += 256u) {
      const uint v106 = v1 / p.parts_;
      const uint v107 = v106 / p.extent_;
      const uint v108 = v107 * p.outer_stride_;
      const uint v109 = p.offset_ + v108;
      const uint v110 = v106 % p.extent_;
      const uint v111 = v110 * p.inner_stride_;
      const uint v112 = v109 + v111;
      const uint v113 = i2 * p.step_;
      const uint v114 = v112 + v113;
      const float v115 = x_[v114];
      const uint v116 = v21 + i2;
      const float v117 = v115 - v64;
      const float v118 = v117 * 0x1.715476p+0f;
      const float v119 = exp2(v118);
      const float v120 = v119 / v105;
      y_[v116] = v120;
    }
  }
}
