#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_EXT_integer_dot_product : require
layout(local_size_x = 128, local_size_y = 1, local_size_z = 1) in;
layout(set = 0, binding = 0, std430) restrict readonly buffer Buffer0 { uint w_[]; };
layout(set = 0, binding = 1, std430) restrict readonly buffer Buffer1 { uvec4 bytes_[]; };
layout(set = 0, binding = 2, std430) restrict readonly buffer Buffer2 { float scales_[]; };
layout(set = 0, binding = 3, std430) restrict buffer Buffer3 { float y_[]; };
layout(push_constant) uniform Params { uint blocks_; uint rows_; } p;
void main() {
  float a0 = uintBitsToFloat(0u);
  const uint v0 = p.blocks_ * 2u;
  const uint v1 = gl_WorkGroupID.x * 4u;
  const uint v2 = v1 + gl_SubgroupID;
  const uint v3 = p.rows_ - 1u;
  const uint v4 = min(v2, v3);
  const uint v5 = v4 * p.blocks_;
  for (uint i0 = gl_SubgroupInvocationID; i0 < v0; i0 += 32u) {
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
    const uvec4 v19 = bytes_[(v18) / 4u];
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
    const int v50 = 0 + dotPacked4x8EXT(int(v49), int(v19.x));
    const int v51 = v50 + dotPacked4x8EXT(int(v45), int(v19.y));
    const int v52 = v51 + dotPacked4x8EXT(int(v41), int(v19.z));
    const int v53 = v52 + dotPacked4x8EXT(int(v37), int(v19.w));
    precise const float v54 = float(v53);
    const uint v55 = v8 & 2u;
    const uint v56 = v55 * 8u;
    const uint v57 = v24 >> v56;
    precise const float v58 = unpackHalf2x16(v57).x;
    precise const float v59 = v58 * v33;
    precise const float v60 = v54 * v59;
    precise const float v61 = v22 + v60;
    a0 = v61;
  }
  const float v62 = a0;
  const float v63 = subgroupAdd(v62);
  const bool v64 = gl_SubgroupInvocationID == 0u;
  const bool v65 = v2 < p.rows_;
  const bool v66 = v64 && v65;
  if (v66) { y_[v2] = v63; }
}
