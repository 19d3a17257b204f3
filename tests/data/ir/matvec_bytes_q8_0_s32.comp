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
layout(push_constant) uniform Params { uint columns_; uint x_offset_; uint rows_; uint y_offset_; } p;
void main() {
  float a0 = uintBitsToFloat(0u);
  const uint v0 = p.columns_ / 32u;
  const uint v1 = v0 * 2u;
  const uint v2 = gl_WorkGroupID.y * gl_NumWorkGroups.x;
  const uint v3 = v2 + gl_WorkGroupID.x;
  const uint v4 = v3 * 4u;
  const uint v5 = v4 + gl_SubgroupID;
  const uint v6 = p.rows_ - 1u;
  const uint v7 = min(v5, v6);
  const uint v8 = v7 * v0;
  const uint v9 = p.x_offset_ / 32u;
  for (uint i0 = gl_SubgroupInvocationID; i0 < v1; i0 += 32u) {
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
    const uvec4 v31 = bytes_[(v30) / 4u];
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
    const int v55 = 0 + dot4(int(v54), int(v31.x), 0);
    const int v56 = v55 + dot4(int(v50), int(v31.y), 0);
    const int v57 = v56 + dot4(int(v46), int(v31.z), 0);
    const int v58 = v57 + dot4(int(v42), int(v31.w), 0);
    precise const float v59 = float(v58);
    const uint v60 = v12 & 2u;
    const uint v61 = v60 * 8u;
    const uint v62 = v33 >> v61;
    precise const float v63 = unpackHalf2x16(v62).x;
    precise const float v64 = v63 * v24;
    precise const float v65 = v59 * v64;
    precise const float v66 = v25 + v65;
    a0 = v66;
  }
  const float v67 = a0;
  const float v68 = subgroupAdd(v67);
  const uint v69 = p.y_offset_ + v5;
  const bool v70 = gl_SubgroupInvocationID == 0u;
  const bool v71 = v5 < p.rows_;
  const bool v72 = v70 && v71;
  if (v72) { y_[v69] = v68; }
}
