#version 460
layout(local_size_x = 256, local_size_y = 1, local_size_z = 1) in;
layout(set = 0, binding = 0, std430) restrict readonly buffer Buffer0 { float x_[]; };
layout(set = 0, binding = 1, std430) restrict buffer Buffer1 { float y_[]; };
layout(push_constant) uniform Params { uint rows_; uint columns_; uint offset_; uint extent_; uint outer_stride_; uint inner_stride_; uint step_; uint parts_; uint part_; uint first_; } p;
shared float s0[256];
void main() {
  const uint v0 = gl_WorkGroupID.y * gl_NumWorkGroups.x;
  const uint v1 = v0 + gl_WorkGroupID.x;
  const uint v2 = p.rows_ * p.parts_;
  const bool v3 = v1 < v2;
  const bool v4 = gl_LocalInvocationIndex < 128u;
  const uint v5 = gl_LocalInvocationIndex + 128u;
  const bool v6 = gl_LocalInvocationIndex < 64u;
  const uint v7 = gl_LocalInvocationIndex + 64u;
  const bool v8 = gl_LocalInvocationIndex < 32u;
  const uint v9 = gl_LocalInvocationIndex + 32u;
  const bool v10 = gl_LocalInvocationIndex < 16u;
  const uint v11 = gl_LocalInvocationIndex + 16u;
  const bool v12 = gl_LocalInvocationIndex < 8u;
  const uint v13 = gl_LocalInvocationIndex + 8u;
  const bool v14 = gl_LocalInvocationIndex < 4u;
  const uint v15 = gl_LocalInvocationIndex + 4u;
  const bool v16 = gl_LocalInvocationIndex < 2u;
  const uint v17 = gl_LocalInvocationIndex + 2u;
  const bool v18 = gl_LocalInvocationIndex < 1u;
  const uint v19 = gl_LocalInvocationIndex + 1u;
  const uint v20 = v1 * p.columns_;
  const uint v21 = p.first_ + v20;
  if (v3) {
    float a0 = uintBitsToFloat(4286578687u);
    const uint v22 = v1 % p.parts_;
    const uint v23 = v22 * p.part_;
    const uint v24 = v23 + gl_LocalInvocationIndex;
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
      precise const float v38 = max(v27, v37);
      a0 = v38;
    }
    const float v39 = a0;
    barrier();
    s0[gl_LocalInvocationIndex] = v39;
    barrier();
    if (v4) {
      const float v40 = s0[v5];
      const float v41 = s0[gl_LocalInvocationIndex];
      precise const float v42 = max(v41, v40);
      s0[gl_LocalInvocationIndex] = v42;
    }
    barrier();
    if (v6) {
      const float v43 = s0[v7];
      const float v44 = s0[gl_LocalInvocationIndex];
      precise const float v45 = max(v44, v43);
      s0[gl_LocalInvocationIndex] = v45;
    }
    barrier();
    if (v8) {
      const float v46 = s0[gl_LocalInvocationIndex];
      const float v47 = s0[v9];
      precise const float v48 = max(v46, v47);
      s0[gl_LocalInvocationIndex] = v48;
    }
    barrier();
    if (v10) {
      const float v49 = s0[v11];
      const float v50 = s0[gl_LocalInvocationIndex];
      precise const float v51 = max(v50, v49);
      s0[gl_LocalInvocationIndex] = v51;
    }
    barrier();
    if (v12) {
      const float v52 = s0[gl_LocalInvocationIndex];
      const float v53 = s0[v13];
      precise const float v54 = max(v52, v53);
      s0[gl_LocalInvocationIndex] = v54;
    }
    barrier();
    if (v14) {
      const float v55 = s0[v15];
      const float v56 = s0[gl_LocalInvocationIndex];
      precise const float v57 = max(v56, v55);
      s0[gl_LocalInvocationIndex] = v57;
    }
    barrier();
    if (v16) {
      const float v58 = s0[v17];
      const float v59 = s0[gl_LocalInvocationIndex];
      precise const float v60 = max(v59, v58);
      s0[gl_LocalInvocationIndex] = v60;
    }
    barrier();
    if (v18) {
      const float v61 = s0[gl_LocalInvocationIndex];
      const float v62 = s0[v19];
      precise const float v63 = max(v61, v62);
      s0[gl_LocalInvocationIndex] = v63;
    }
    barrier();
    const float v64 = s0[0u];
    float a1 = uintBitsToFloat(0u);
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
      precise const float v76 = v74 - v64;
      precise const float v77 = v76 * uintBitsToFloat(1069066811u);
      precise const float v78 = exp2(v77);
      precise const float v79 = v75 + v78;
      a1 = v79;
    }
    const float v80 = a1;
    barrier();
    s0[gl_LocalInvocationIndex] = v80;
    barrier();
    if (v4) {
      const float v81 = s0[v5];
      const float v82 = s0[gl_LocalInvocationIndex];
      precise const float v83 = v82 + v81;
      s0[gl_LocalInvocationIndex] = v83;
    }
    barrier();
    if (v6) {
      const float v84 = s0[gl_LocalInvocationIndex];
      const float v85 = s0[v7];
      precise const float v86 = v84 + v85;
      s0[gl_LocalInvocationIndex] = v86;
    }
    barrier();
    if (v8) {
      const float v87 = s0[v9];
      const float v88 = s0[gl_LocalInvocationIndex];
      precise const float v89 = v88 + v87;
      s0[gl_LocalInvocationIndex] = v89;
    }
    barrier();
    if (v10) {
      const float v90 = s0[v11];
      const float v91 = s0[gl_LocalInvocationIndex];
      precise const float v92 = v91 + v90;
      s0[gl_LocalInvocationIndex] = v92;
    }
    barrier();
    if (v12) {
      const float v93 = s0[v13];
      const float v94 = s0[gl_LocalInvocationIndex];
      precise const float v95 = v94 + v93;
      s0[gl_LocalInvocationIndex] = v95;
    }
    barrier();
    if (v14) {
      const float v96 = s0[v15];
      const float v97 = s0[gl_LocalInvocationIndex];
      precise const float v98 = v97 + v96;
      s0[gl_LocalInvocationIndex] = v98;
    }
    barrier();
    if (v16) {
      const float v99 = s0[v17];
      const float v100 = s0[gl_LocalInvocationIndex];
      precise const float v101 = v100 + v99;
      s0[gl_LocalInvocationIndex] = v101;
    }
    barrier();
    if (v18) {
      const float v102 = s0[v19];
      const float v103 = s0[gl_LocalInvocationIndex];
      precise const float v104 = v103 + v102;
      s0[gl_LocalInvocationIndex] = v104;
    }
    barrier();
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
      precise const float v117 = v115 - v64;
      precise const float v118 = v117 * uintBitsToFloat(1069066811u);
      precise const float v119 = exp2(v118);
      precise const float v120 = v119 / v105;
      y_[v116] = v120;
    }
  }
}
