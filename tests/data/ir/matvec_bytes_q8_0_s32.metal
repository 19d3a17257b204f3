#include <metal_stdlib>
using namespace metal;
inline int wick_dot4(uint a, uint b, int c) {
  for (uint i = 0; i < 32; i += 8) c += int(char(a >> i)) * int(char(b >> i));
  return c;
}
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
struct Params { uint columns_; uint x_offset_; uint rows_; uint y_offset_; };
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
  const uint v9 = p.x_offset_ / 32u;
  for (uint i0 = lane; i0 < v1; i0 += 32u) {
    const uint v10 = i0 / 2u;
    const uint v11 = v8 + v10;
    const uint v12 = v11 * 34u;
    const uint v13 = v12 + 2u;
    const uint v14 = i0 % 2u;
    const uint v15 = v14 * 16u;
    const uint v16 = v13 + v15;
    const uint v17 = v16 >> 2u;
    const uint v18 = v17 + 3u;
    const uint v19 = w_[v18];
    const uint v20 = w_[v17];
    const uint v21 = v17 + 2u;
    const uint v22 = w_[v21];
    const uint v23 = v9 + v10;
    const float v24 = scales_[v23];
    const float v25 = a0;
    const uint v26 = v17 + 1u;
    const uint v27 = w_[v26];
    const uint v28 = v23 * 8u;
    const uint v29 = v14 * 4u;
    const uint v30 = v28 + v29;
    const uint4 v31 = *(const device uint4*)&bytes_[v30];
    const uint v32 = v12 >> 2u;
    const uint v33 = w_[v32];
    const uint v34 = v17 + 4u;
    const uint v35 = v16 & 2u;
    const bool v36 = v35 == 0u;
    const bool v37 = !v36;
    uint v38 = 0u;
    if (v37) { v38 = w_[v34]; }
    const uint v39 = v19 >> 16u;
    const uint v40 = v38 << 16u;
    const uint v41 = v39 | v40;
    const uint v42 = v37 ? v41 : v19;
    const uint v43 = v22 >> 16u;
    const uint v44 = v19 << 16u;
    const uint v45 = v43 | v44;
    const uint v46 = v37 ? v45 : v22;
    const uint v47 = v27 >> 16u;
    const uint v48 = v22 << 16u;
    const uint v49 = v47 | v48;
    const uint v50 = v37 ? v49 : v27;
    const uint v51 = v20 >> 16u;
    const uint v52 = v27 << 16u;
    const uint v53 = v51 | v52;
    const uint v54 = v37 ? v53 : v20;
    const int v55 = wick_dot4(v54, v31.x, 0);
    const int v56 = wick_dot4(v50, v31.y, v55);
    const int v57 = wick_dot4(v46, v31.z, v56);
    const int v58 = wick_dot4(v42, v31.w, v57);
    const float v59 = float(v58);
    const uint v60 = v12 & 2u;
    const uint v61 = v60 * 8u;
    const uint v62 = v33 >> v61;
    const float v63 = float(as_type<half>(ushort(v62)));
    const float v64 = v63 * v24;
    const float v65 = v59 * v64;
    const float v66 = v25 + v65;
    a0 = v66;
  }
  const float v67 = a0;
  const float v68 = simd_sum(v67);
  const uint v69 = p.y_offset_ + v5;
  const bool v70 = lane == 0u;
  const bool v71 = v5 < p.rows_;
  const bool v72 = v70 && v71;
  if (v72) { y_[v69] = v68; }
}
