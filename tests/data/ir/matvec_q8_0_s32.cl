#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable
float wick_unpack_half(uint bits) {
  const ushort half_bits = (ushort)bits;
  return vload_half(0, (const __private half*)&half_bits);
}
#pragma OPENCL FP_CONTRACT OFF
typedef struct { uint blocks_; uint rows_; uint x_offset_; uint y_offset_; } Params;
__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
__attribute__((intel_reqd_sub_group_size(32)))
void wick_matvec_q8_0_s32(__global const uint* restrict w_, __global const uint* restrict bytes_, __global const float* restrict scales_, __global float* restrict y_, const Params p) {
  float a0 = 0x0p+0f;
  const uint v0 = p.blocks_ * 2u;
  const uint v1 = (uint)get_group_id(1) * (uint)get_num_groups(0);
  const uint v2 = v1 + (uint)get_group_id(0);
  const uint v3 = v2 * 4u;
  const uint v4 = v3 + get_sub_group_id();
  const uint v5 = p.rows_ - 1u;
  const uint v6 = min(v4, v5);
  const uint v7 = v6 * p.blocks_;
  const uint v8 = p.x_offset_ / 32u;
  for (uint i0 = get_sub_group_local_id(); i0 < v0; i0 += 32u) {
    const uint v9 = i0 / 2u;
    const uint v10 = v7 + v9;
    const uint v11 = v10 * 34u;
    const uint v12 = v11 >> 2u;
    const uint v13 = w_[v12];
    const uint v14 = v8 + v9;
    const float v15 = scales_[v14];
    const uint v16 = v11 + 2u;
    const uint v17 = i0 % 2u;
    const uint v18 = v17 * 16u;
    const uint v19 = v16 + v18;
    const uint v20 = v19 >> 2u;
    const uint v21 = v20 + 2u;
    const uint v22 = w_[v21];
    const float v23 = a0;
    const uint v24 = v14 * 8u;
    const uint v25 = v17 * 4u;
    const uint v26 = v24 + v25;
    const uint4 v27 = *(const __global uint4*)&bytes_[v26];
    const uint v28 = w_[v20];
    const uint v29 = v20 + 1u;
    const uint v30 = w_[v29];
    const uint v31 = v20 + 4u;
    const uint v32 = v19 & 2u;
    const bool v33 = v32 == 0u;
    const bool v34 = !v33;
    uint v35 = 0u;
    if (v34) { v35 = w_[v31]; }
    const uint v36 = v20 + 3u;
    const uint v37 = w_[v36];
    const uint v38 = v37 >> 16u;
    const uint v39 = v35 << 16u;
    const uint v40 = v38 | v39;
    const uint v41 = v34 ? v40 : v37;
    const uint v42 = v22 >> 16u;
    const uint v43 = v37 << 16u;
    const uint v44 = v42 | v43;
    const uint v45 = v34 ? v44 : v22;
    const uint v46 = v30 >> 16u;
    const uint v47 = v22 << 16u;
    const uint v48 = v46 | v47;
    const uint v49 = v34 ? v48 : v30;
    const uint v50 = v28 >> 16u;
    const uint v51 = v30 << 16u;
    const uint v52 = v50 | v51;
    const uint v53 = v34 ? v52 : v28;
    const int v54 = 0 + dot_4x8packed_ss_int(v53, v27.x);
    const int v55 = v54 + dot_4x8packed_ss_int(v49, v27.y);
    const int v56 = v55 + dot_4x8packed_ss_int(v45, v27.z);
    const int v57 = v56 + dot_4x8packed_ss_int(v41, v27.w);
    const float v58 = (float)(v57);
    const uint v59 = v11 & 2u;
    const uint v60 = v59 * 8u;
    const uint v61 = v13 >> v60;
    const float v62 = wick_unpack_half(v61);
    const float v63 = v62 * v15;
    const float v64 = v58 * v63;
    const float v65 = v23 + v64;
    a0 = v65;
  }
  const float v66 = a0;
  const float v67 = sub_group_reduce_add(v66);
  const uint v68 = p.y_offset_ + v4;
  const bool v69 = get_sub_group_local_id() == 0u;
  const bool v70 = v4 < p.rows_;
  const bool v71 = v69 && v70;
  if (v71) { y_[v68] = v67; }
}
