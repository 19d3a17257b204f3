#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable
float wick_unpack_half(uint bits) {
  const ushort half_bits = (ushort)bits;
  return vload_half(0, (const __private half*)&half_bits);
}
#pragma OPENCL FP_CONTRACT OFF
typedef struct { uint columns_; uint x_offset_; uint rows_; uint y_offset_; } Params;
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
  const uint v9 = p.x_offset_ / 32u;
  for (uint i0 = get_sub_group_local_id(); i0 < v1; i0 += 32u) {
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
    const uint4 v31 = *(const __global uint4*)&bytes_[v30];
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
    const int v55 = 0 + dot_4x8packed_ss_int(v54, v31.x);
    const int v56 = v55 + dot_4x8packed_ss_int(v50, v31.y);
    const int v57 = v56 + dot_4x8packed_ss_int(v46, v31.z);
    const int v58 = v57 + dot_4x8packed_ss_int(v42, v31.w);
    const float v59 = (float)(v58);
    const uint v60 = v12 & 2u;
    const uint v61 = v60 * 8u;
    const uint v62 = v33 >> v61;
    const float v63 = wick_unpack_half(v62);
    const float v64 = v63 * v24;
    const float v65 = v59 * v64;
    const float v66 = v25 + v65;
    a0 = v66;
  }
  const float v67 = a0;
  const float v68 = sub_group_reduce_add(v67);
  const uint v69 = p.y_offset_ + v5;
  const bool v70 = get_sub_group_local_id() == 0u;
  const bool v71 = v5 < p.rows_;
  const bool v72 = v70 && v71;
  if (v72) { y_[v69] = v68; }
}
