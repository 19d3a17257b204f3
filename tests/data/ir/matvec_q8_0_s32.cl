#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable
float wick_unpack_half(uint bits) {
  const ushort half_bits = (ushort)bits;
  return vload_half(0, (const __private half*)&half_bits);
}
#pragma OPENCL FP_CONTRACT OFF
typedef struct { uint blocks_; uint rows_; } Params;
__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
__attribute__((intel_reqd_sub_group_size(32)))
void wick_matvec_q8_0_s32(__global const uint* restrict w_, __global const uint* restrict bytes_, __global const float* restrict scales_, __global float* restrict y_, const Params p) {
  float a0 = 0x0p+0f;
  const uint v0 = p.blocks_ * 2u;
  const uint v1 = (uint)get_group_id(0) * 4u;
  const uint v2 = v1 + get_sub_group_id();
  const uint v3 = p.rows_ - 1u;
  const uint v4 = min(v2, v3);
  const uint v5 = v4 * p.blocks_;
  for (uint i0 = get_sub_group_local_id(); i0 < v0; i0 += 32u) {
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
    const uint4 v19 = *(const __global uint4*)&bytes_[v18];
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
    const int v50 = 0 + dot_4x8packed_ss_int(v49, v19.x);
    const int v51 = v50 + dot_4x8packed_ss_int(v45, v19.y);
    const int v52 = v51 + dot_4x8packed_ss_int(v41, v19.z);
    const int v53 = v52 + dot_4x8packed_ss_int(v37, v19.w);
    const float v54 = (float)(v53);
    const uint v55 = v8 & 2u;
    const uint v56 = v55 * 8u;
    const uint v57 = v24 >> v56;
    const float v58 = wick_unpack_half(v57);
    const float v59 = v58 * v33;
    const float v60 = v54 * v59;
    const float v61 = v22 + v60;
    a0 = v61;
  }
  const float v62 = a0;
  const float v63 = sub_group_reduce_add(v62);
  const bool v64 = get_sub_group_local_id() == 0u;
  const bool v65 = v2 < p.rows_;
  const bool v66 = v64 && v65;
  if (v66) { y_[v2] = v63; }
}
