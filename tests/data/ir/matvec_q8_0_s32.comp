#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_EXT_spirv_intrinsics : require
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = 4450) int dot4(int a, int b, spirv_literal int packed);
layout(local_size_x = 128, local_size_y = 1, local_size_z = 1) in;
layout(set = 0, binding = 0, std430) restrict readonly buffer Buffer0 { uint w_[]; };
layout(set = 0, binding = 1, std430) restrict readonly buffer Buffer1 { uvec4 bytes_[]; };
layout(set = 0, binding = 2, std430) restrict readonly buffer Buffer2 { float scales_[]; };
layout(set = 0, binding = 3, std430) restrict buffer Buffer3 { float y_[]; };
layout(push_constant) uniform Params { uint blocks_; uint rows_; uint x_offset_; uint y_offset_; } p;
void main() {
  float a0 = uintBitsToFloat(0u);
  const uint v0 = p.blocks_ * 2u;
  const uint v1 = gl_WorkGroupID.y * gl_NumWorkGroups.x;
  const uint v2 = v1 + gl_WorkGroupID.x;
  const uint v3 = v2 * 4u;
  const uint v4 = v3 + gl_SubgroupID;
  const uint v5 = p.rows_ - 1u;
  const uint v6 = min(v4, v5);
  const uint v7 = v6 * p.blocks_;
  const uint v8 = p.x_offset_ / 32u;
  for (uint i0 = gl_SubgroupInvocationID; i0 < v0; i0 += 32u) {
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
    const uvec4 v27 = bytes_[(v26) / 4u];
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
    const int v54 = 0 + dot4(int(v53), int(v27.x), 0);
    const int v55 = v54 + dot4(int(v49), int(v27.y), 0);
    const int v56 = v55 + dot4(int(v45), int(v27.z), 0);
    const int v57 = v56 + dot4(int(v41), int(v27.w), 0);
    precise const float v58 = float(v57);
    const uint v59 = v11 & 2u;
    const uint v60 = v59 * 8u;
    const uint v61 = v13 >> v60;
    precise const float v62 = unpackHalf2x16(v61).x;
    precise const float v63 = v62 * v15;
    precise const float v64 = v58 * v63;
    precise const float v65 = v23 + v64;
    a0 = v65;
  }
  const float v66 = a0;
  const float v67 = subgroupAdd(v66);
  const uint v68 = p.y_offset_ + v4;
  const bool v69 = gl_SubgroupInvocationID == 0u;
  const bool v70 = v4 < p.rows_;
  const bool v71 = v69 && v70;
  if (v71) { y_[v68] = v67; }
}
