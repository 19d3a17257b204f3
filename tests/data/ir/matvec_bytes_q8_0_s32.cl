#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable
float wick_unpack_half(uint bits) {
  const ushort half_bits = (ushort)bits;
  return vload_half(0, (const __private half*)&half_bits);
}
#pragma OPENCL FP_CONTRACT OFF
typedef struct { uint columns_; uint x_offset_; uint first_block_; uint rows_; uint y_offset_; } Params;
__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
__attribute__((intel_reqd_sub_group_size(32)))
void wick_matvec_bytes_q8_0_s32(__global const uint* restrict w_, __global const uint* restrict bytes_, __global const float* restrict scales_, __global float* restrict y_, const Params p) {
  float a0 = 0x0p+0f;
  const uint v0 = p.columns_ / 32u;
  const uint v1 = v0 * 2u;
  const uint v2 = (uint)get_group_id(1) * (uint)get_num_groups(0);
  const uint v3 = v2 + (uint)get_group_id(0);
  const uint v4 = v3 * 4u;
  const uint v5 = v4 + get_sub_group_id();
  const uint v6 = p.rows_ - 1u;
  const uint v7 = min(v5, v6);
  const uint v8 = v7 * v0;
  const uint v9 = p.first_block_ + v8;
  const uint v10 = p.x_offset_ / 32u;
  for (uint i0 = get_sub_group_local_id(); i0 < v1; i0 += 32u) {
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
    const uint4 v37 = *(const __global uint4*)&bytes_[v36];
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
    const int v56 = 0 + dot_4x8packed_ss_int(v55, v37.x);
    const int v57 = v56 + dot_4x8packed_ss_int(v51, v37.y);
    const int v58 = v57 + dot_4x8packed_ss_int(v47, v37.z);
    const int v59 = v58 + dot_4x8packed_ss_int(v43, v37.w);
    const float v60 = (float)(v59);
    const uint v61 = v13 & 2u;
    const uint v62 = v61 * 8u;
    const uint v63 = v39 >> v62;
    const float v64 = wick_unpack_half(v63);
    const float v65 = v64 * v28;
    const float v66 = v60 * v65;
    const float v67 = v31 + v66;
    a0 = v67;
  }
  const float v68 = a0;
  const float v69 = sub_group_reduce_add(v68);
  const uint v70 = p.y_offset_ + v5;
  const bool v71 = get_sub_group_local_id() == 0u;
  const bool v72 = v5 < p.rows_;
  const bool v73 = v71 && v72;
  if (v73) { y_[v70] = v69; }
}
