#include <metal_stdlib>
using namespace metal;
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
struct Params { uint columns_; };
kernel void wick_softmax_f32(device const float* x_ [[buffer(0)]], device float* y_ [[buffer(1)]], constant Params& p [[buffer(2)]], uint3 gid [[threadgroup_position_in_grid]], uint3 groups [[threadgroups_per_grid]], uint lid [[thread_index_in_threadgroup]]) {
  alignas(16) threadgroup float s0[256];
  float a0 = (-0x1.fffffep+127f);
  const uint v0 = gid.y * groups.x;
  const uint v1 = v0 + gid.x;
  const uint v2 = v1 * p.columns_;
  for (uint i0 = lid; i0 < p.columns_; i0 += 256u) {
    const float v3 = a0;
    const uint v4 = v2 + i0;
    const float v5 = x_[v4];
    const float v6 = max(v3, v5);
    a0 = v6;
  }
  const float v7 = a0;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  s0[lid] = v7;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const bool v8 = lid < 128u;
  const uint v9 = lid + 128u;
  if (v8) {
    const float v10 = s0[lid];
    const float v11 = s0[v9];
    const float v12 = max(v10, v11);
    s0[lid] = v12;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const bool v13 = lid < 64u;
  const uint v14 = lid + 64u;
  if (v13) {
    const float v15 = s0[lid];
    const float v16 = s0[v14];
    const float v17 = max(v15, v16);
    s0[lid] = v17;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const bool v18 = lid < 32u;
  const uint v19 = lid + 32u;
  if (v18) {
    const float v20 = s0[lid];
    const float v21 = s0[v19];
    const float v22 = max(v20, v21);
    s0[lid] = v22;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const bool v23 = lid < 16u;
  const uint v24 = lid + 16u;
  if (v23) {
    const float v25 = s0[v24];
    const float v26 = s0[lid];
    const float v27 = max(v26, v25);
    s0[lid] = v27;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const bool v28 = lid < 8u;
  const uint v29 = lid + 8u;
  if (v28) {
    const float v30 = s0[v29];
    const float v31 = s0[lid];
    const float v32 = max(v31, v30);
    s0[lid] = v32;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const bool v33 = lid < 4u;
  const uint v34 = lid + 4u;
  if (v33) {
    const float v35 = s0[v34];
    const float v36 = s0[lid];
    const float v37 = max(v36, v35);
    s0[lid] = v37;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const bool v38 = lid < 2u;
  const uint v39 = lid + 2u;
  if (v38) {
    const float v40 = s0[lid];
    const float v41 = s0[v39];
    const float v42 = max(v40, v41);
    s0[lid] = v42;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const bool v43 = lid < 1u;
  const uint v44 = lid + 1u;
  if (v43) {
    const float v45 = s0[v44];
    const float v46 = s0[lid];
    const float v47 = max(v46, v45);
    s0[lid] = v47;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const float v48 = s0[0u];
  float a1 = 0x0p+0f;
  for (uint i1 = lid; i1 < p.columns_; i1 += 256u) {
    const float v49 = a1;
    const uint v50 = v2 + i1;
    const float v51 = x_[v50];
    const float v52 = v51 - v48;
    const float v53 = v52 * 0x1.715476p+0f;
    const float v54 = precise::exp2(v53);
    const float v55 = v49 + v54;
    a1 = v55;
  }
  const float v56 = a1;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  s0[lid] = v56;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (v8) {
    const float v57 = s0[lid];
    const float v58 = s0[v9];
    const float v59 = v57 + v58;
    s0[lid] = v59;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (v13) {
    const float v60 = s0[lid];
    const float v61 = s0[v14];
    const float v62 = v60 + v61;
    s0[lid] = v62;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (v18) {
    const float v63 = s0[lid];
    const float v64 = s0[v19];
    const float v65 = v63 + v64;
    s0[lid] = v65;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (v23) {
    const float v66 = s0[v24];
    const float v67 = s0[lid];
    const float v68 = v67 + v66;
    s0[lid] = v68;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (v28) {
    const float v69 = s0[lid];
    const float v70 = s0[v29];
    const float v71 = v69 + v70;
    s0[lid] = v71;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (v33) {
    const float v72 = s0[lid];
    const float v73 = s0[v34];
    const float v74 = v72 + v73;
    s0[lid] = v74;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (v38) {
    const float v75 = s0[lid];
    const float v76 = s0[v39];
    const float v77 = v75 + v76;
    s0[lid] = v77;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (v43) {
    const float v78 = s0[v44];
    const float v79 = s0[lid];
    const float v80 = v79 + v78;
    s0[lid] = v80;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const float v81 = s0[0u];
  for (uint i2 = lid; i2 < p.columns_; i2 += 256u) {
    const uint v82 = v2 + i2;
    const float v83 = x_[v82];
    const float v84 = v83 - v48;
    const float v85 = v84 * 0x1.715476p+0f;
    const float v86 = precise::exp2(v85);
    const float v87 = v86 / v81;
    y_[v82] = v87;
  }
}
