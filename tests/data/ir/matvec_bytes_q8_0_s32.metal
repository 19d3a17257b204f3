#include <metal_stdlib>
using namespace metal;
inline int wick_dot4(uint a, uint b, int c) {
  for (uint i = 0; i < 32; i += 8) c += int(char(a >> i)) * int(char(b >> i));
  return c;
}
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
struct Params { uint columns_; uint x_offset_; uint first_block_; uint rows_; uint y_offset_; };
kernel void wick_matvec_bytes_q8_0_s32(device const uint* w_ [[buffer(0)]], device const uint* bytes_ [[buffer(1)]], device const float* scales_ [[buffer(2)]], device float* y_ [[buffer(3)]], constant Params& p [[buffer(4)]], uint3 gid [[threadgroup_position_in_grid]], uint3 groups [[threadgroups_per_grid]], uint lid [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  float a0 = 0x0p+0f;
  const uint v0 = p.columns_ / 32u;
  const uint v1 = v0 * 2u;
  const uint v2 = gid.y * groups.x;
  const uint v3 = v2 + gid.x;
  const uint v4 = v3 * 4u;
  const uint v5 = v4 + simdgroup;
  const uint v6 = p.rows_ - 1u;
  const uint v7 = min(v5, v6);
  const uint v8 = v7 * v0;
  const uint v9 = p.first_block_ + v8;
  const uint v10 = p.x_offset_ / 32u;
  for (uint i0 = lane; i0 < v1; i0 += 32u) {
    const uint v11 = i0 / 2u;
    const uint v12 = v9 + v11;
    const uint v13 = v12 * 34u;
    const uint v14 = v13 + 2u;
    const uint v15 = i0 % 2u;
    const uint v16 = v15 * 16u;
    const uint v17 = v14 + v16;
    const uint v18 = v17 >> 2u;
    const uint v19 = w_[v18];
    const uint v20 = v18 + 2u;
    const uint v21 = w_[v20];
    const uint v22 = v18 + 4u;
    const uint v23 = v17 & 2u;
    const bool v24 = v23 == 0u;
    const bool v25 = !v24;
    uint v26 = 0u;
    if (v25) { v26 = w_[v22]; }
    const uint v27 = v10 + v11;
    const float v28 = scales_[v27];
    const uint v29 = v18 + 3u;
    const uint v30 = w_[v29];
    const float v31 = a0;
    const uint v32 = v18 + 1u;
    const uint v33 = w_[v32];
    const uint v34 = v27 * 8u;
    const uint v35 = v15 * 4u;
    const uint v36 = v34 + v35;
    const uint4 v37 = *(const device uint4*)&bytes_[v36];
    const uint v38 = v13 >> 2u;
    const uint v39 = w_[v38];
    const uint v40 = v30 >> 16u;
    const uint v41 = v26 << 16u;
    const uint v42 = v40 | v41;
    const uint v43 = v25 ? v42 : v30;
    const uint v44 = v21 >> 16u;
    const uint v45 = v30 << 16u;
    const uint v46 = v44 | v45;
    const uint v47 = v25 ? v46 : v21;
    const uint v48 = v33 >> 16u;
    const uint v49 = v21 << 16u;
    const uint v50 = v48 | v49;
    const uint v51 = v25 ? v50 : v33;
    const uint v52 = v19 >> 16u;
    const uint v53 = v33 << 16u;
    const uint v54 = v52 | v53;
    const uint v55 = v25 ? v54 : v19;
    const int v56 = wick_dot4(v55, v37.x, 0);
    const int v57 = wick_dot4(v51, v37.y, v56);
    const int v58 = wick_dot4(v47, v37.z, v57);
    const int v59 = wick_dot4(v43, v37.w, v58);
    const float v60 = float(v59);
    const uint v61 = v13 & 2u;
    const uint v62 = v61 * 8u;
    const uint v63 = v39 >> v62;
    const float v64 = float(as_type<half>(ushort(v63)));
    const float v65 = v64 * v28;
    const float v66 = v60 * v65;
    const float v67 = v31 + v66;
    a0 = v67;
  }
  const float v68 = a0;
  const float v69 = simd_sum(v68);
  const uint v70 = p.y_offset_ + v5;
  const bool v71 = lane == 0u;
  const bool v72 = v5 < p.rows_;
  const bool v73 = v71 && v72;
  if (v73) { y_[v70] = v69; }
}
