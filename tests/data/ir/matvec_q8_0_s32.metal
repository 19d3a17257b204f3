#include <metal_stdlib>
using namespace metal;
inline int wick_dot4(uint a, uint b, int c) {
  for (uint i = 0; i < 32; i += 8) c += int(char(a >> i)) * int(char(b >> i));
  return c;
}
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
struct Params { uint blocks_; uint rows_; };
kernel void wick_matvec_q8_0_s32(device const uint* w_ [[buffer(0)]], device const uint* bytes_ [[buffer(1)]], device const float* scales_ [[buffer(2)]], device float* y_ [[buffer(3)]], constant Params& p [[buffer(4)]], uint3 gid [[threadgroup_position_in_grid]], uint3 groups [[threadgroups_per_grid]], uint lid [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  float a0 = 0x0p+0f;
  const uint v0 = p.blocks_ * 2u;
  const uint v1 = gid.x * 4u;
  const uint v2 = v1 + simdgroup;
  const uint v3 = p.rows_ - 1u;
  const uint v4 = min(v2, v3);
  const uint v5 = v4 * p.blocks_;
  for (uint i0 = lane; i0 < v0; i0 += 32u) {
    const uint v6 = i0 / 2u;
    const uint v7 = v5 + v6;
    const uint v8 = v7 * 34u;
    const uint v9 = v8 + 2u;
    const uint v10 = i0 % 2u;
    const uint v11 = v10 * 16u;
    const uint v12 = v9 + v11;
    const uint v13 = v12 >> 2u;
    const uint v14 = v13 + 3u;
    const uint v15 = w_[v14];
    const uint v16 = v6 * 8u;
    const uint v17 = v10 * 4u;
    const uint v18 = v16 + v17;
    const uint4 v19 = *(const device uint4*)&bytes_[v18];
    const uint v20 = v13 + 2u;
    const uint v21 = w_[v20];
    const float v22 = a0;
    const uint v23 = v8 >> 2u;
    const uint v24 = w_[v23];
    const uint v25 = v13 + 1u;
    const uint v26 = w_[v25];
    const uint v27 = w_[v13];
    const uint v28 = v13 + 4u;
    const uint v29 = v12 & 2u;
    const bool v30 = v29 == 0u;
    const bool v31 = !v30;
    uint v32 = 0u;
    if (v31) { v32 = w_[v28]; }
    const float v33 = scales_[v6];
    const uint v34 = v15 >> 16u;
    const uint v35 = v32 << 16u;
    const uint v36 = v34 | v35;
    const uint v37 = v31 ? v36 : v15;
    const uint v38 = v21 >> 16u;
    const uint v39 = v15 << 16u;
    const uint v40 = v38 | v39;
    const uint v41 = v31 ? v40 : v21;
    const uint v42 = v26 >> 16u;
    const uint v43 = v21 << 16u;
    const uint v44 = v42 | v43;
    const uint v45 = v31 ? v44 : v26;
    const uint v46 = v27 >> 16u;
    const uint v47 = v26 << 16u;
    const uint v48 = v46 | v47;
    const uint v49 = v31 ? v48 : v27;
    const int v50 = wick_dot4(v49, v19.x, 0);
    const int v51 = wick_dot4(v45, v19.y, v50);
    const int v52 = wick_dot4(v41, v19.z, v51);
    const int v53 = wick_dot4(v37, v19.w, v52);
    const float v54 = float(v53);
    const uint v55 = v8 & 2u;
    const uint v56 = v55 * 8u;
    const uint v57 = v24 >> v56;
    const float v58 = float(as_type<half>(ushort(v57)));
    const float v59 = v58 * v33;
    const float v60 = v54 * v59;
    const float v61 = v22 + v60;
    a0 = v61;
  }
  const float v62 = a0;
  const float v63 = simd_sum(v62);
  const bool v64 = lane == 0u;
  const bool v65 = v2 < p.rows_;
  const bool v66 = v64 && v65;
  if (v66) { y_[v2] = v63; }
}
