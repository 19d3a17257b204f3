#version 460
layout(local_size_x = 256, local_size_y = 1, local_size_z = 1) in;
layout(set = 0, binding = 0, std430) restrict readonly buffer Buffer0 { float x_[]; };
layout(set = 0, binding = 1, std430) restrict buffer Buffer1 { float y_[]; };
layout(push_constant) uniform Params { uint columns_; } p;
shared float s0[256];
void main() {
  float a0 = uintBitsToFloat(4286578687u);
  const uint v0 = gl_WorkGroupID.y * gl_NumWorkGroups.x;
  const uint v1 = v0 + gl_WorkGroupID.x;
  const uint v2 = v1 * p.columns_;
  for (uint i0 = gl_LocalInvocationIndex; i0 < p.columns_; i0 += 256u) {
    const float v3 = a0;
    const uint v4 = v2 + i0;
    const float v5 = x_[v4];
    precise const float v6 = max(v3, v5);
    a0 = v6;
  }
  const float v7 = a0;
  barrier();
  s0[gl_LocalInvocationIndex] = v7;
  barrier();
  const bool v8 = gl_LocalInvocationIndex < 128u;
  const uint v9 = gl_LocalInvocationIndex + 128u;
  if (v8) {
    const float v10 = s0[gl_LocalInvocationIndex];
    const float v11 = s0[v9];
    precise const float v12 = max(v10, v11);
    s0[gl_LocalInvocationIndex] = v12;
  }
  barrier();
  const bool v13 = gl_LocalInvocationIndex < 64u;
  const uint v14 = gl_LocalInvocationIndex + 64u;
  if (v13) {
    const float v15 = s0[gl_LocalInvocationIndex];
    const float v16 = s0[v14];
    precise const float v17 = max(v15, v16);
    s0[gl_LocalInvocationIndex] = v17;
  }
  barrier();
  const bool v18 = gl_LocalInvocationIndex < 32u;
  const uint v19 = gl_LocalInvocationIndex + 32u;
  if (v18) {
    const float v20 = s0[gl_LocalInvocationIndex];
    const float v21 = s0[v19];
    precise const float v22 = max(v20, v21);
    s0[gl_LocalInvocationIndex] = v22;
  }
  barrier();
  const bool v23 = gl_LocalInvocationIndex < 16u;
  const uint v24 = gl_LocalInvocationIndex + 16u;
  if (v23) {
    const float v25 = s0[v24];
    const float v26 = s0[gl_LocalInvocationIndex];
    precise const float v27 = max(v26, v25);
    s0[gl_LocalInvocationIndex] = v27;
  }
  barrier();
  const bool v28 = gl_LocalInvocationIndex < 8u;
  const uint v29 = gl_LocalInvocationIndex + 8u;
  if (v28) {
    const float v30 = s0[v29];
    const float v31 = s0[gl_LocalInvocationIndex];
    precise const float v32 = max(v31, v30);
    s0[gl_LocalInvocationIndex] = v32;
  }
  barrier();
  const bool v33 = gl_LocalInvocationIndex < 4u;
  const uint v34 = gl_LocalInvocationIndex + 4u;
  if (v33) {
    const float v35 = s0[v34];
    const float v36 = s0[gl_LocalInvocationIndex];
    precise const float v37 = max(v36, v35);
    s0[gl_LocalInvocationIndex] = v37;
  }
  barrier();
  const bool v38 = gl_LocalInvocationIndex < 2u;
  const uint v39 = gl_LocalInvocationIndex + 2u;
  if (v38) {
    const float v40 = s0[gl_LocalInvocationIndex];
    const float v41 = s0[v39];
    precise const float v42 = max(v40, v41);
    s0[gl_LocalInvocationIndex] = v42;
  }
  barrier();
  const bool v43 = gl_LocalInvocationIndex < 1u;
  const uint v44 = gl_LocalInvocationIndex + 1u;
  if (v43) {
    const float v45 = s0[v44];
    const float v46 = s0[gl_LocalInvocationIndex];
    precise const float v47 = max(v46, v45);
    s0[gl_LocalInvocationIndex] = v47;
  }
  barrier();
  const float v48 = s0[0u];
  float a1 = uintBitsToFloat(0u);
  for (uint i1 = gl_LocalInvocationIndex; i1 < p.columns_; i1 += 256u) {
    const float v49 = a1;
    const uint v50 = v2 + i1;
    const float v51 = x_[v50];
    precise const float v52 = v51 - v48;
    precise const float v53 = v52 * uintBitsToFloat(1069066811u);
    precise const float v54 = exp2(v53);
    precise const float v55 = v49 + v54;
    a1 = v55;
  }
  const float v56 = a1;
  barrier();
  s0[gl_LocalInvocationIndex] = v56;
  barrier();
  if (v8) {
    const float v57 = s0[gl_LocalInvocationIndex];
    const float v58 = s0[v9];
    precise const float v59 = v57 + v58;
    s0[gl_LocalInvocationIndex] = v59;
  }
  barrier();
  if (v13) {
    const float v60 = s0[gl_LocalInvocationIndex];
    const float v61 = s0[v14];
    precise const float v62 = v60 + v61;
    s0[gl_LocalInvocationIndex] = v62;
  }
  barrier();
  if (v18) {
    const float v63 = s0[gl_LocalInvocationIndex];
    const float v64 = s0[v19];
    precise const float v65 = v63 + v64;
    s0[gl_LocalInvocationIndex] = v65;
  }
  barrier();
  if (v23) {
    const float v66 = s0[v24];
    const float v67 = s0[gl_LocalInvocationIndex];
    precise const float v68 = v67 + v66;
    s0[gl_LocalInvocationIndex] = v68;
  }
  barrier();
  if (v28) {
    const float v69 = s0[gl_LocalInvocationIndex];
    const float v70 = s0[v29];
    precise const float v71 = v69 + v70;
    s0[gl_LocalInvocationIndex] = v71;
  }
  barrier();
  if (v33) {
    const float v72 = s0[gl_LocalInvocationIndex];
    const float v73 = s0[v34];
    precise const float v74 = v72 + v73;
    s0[gl_LocalInvocationIndex] = v74;
  }
  barrier();
  if (v38) {
    const float v75 = s0[gl_LocalInvocationIndex];
    const float v76 = s0[v39];
    precise const float v77 = v75 + v76;
    s0[gl_LocalInvocationIndex] = v77;
  }
  barrier();
  if (v43) {
    const float v78 = s0[v44];
    const float v79 = s0[gl_LocalInvocationIndex];
    precise const float v80 = v79 + v78;
    s0[gl_LocalInvocationIndex] = v80;
  }
  barrier();
  const float v81 = s0[0u];
  for (uint i2 = gl_LocalInvocationIndex; i2 < p.columns_; i2 += 256u) {
    const uint v82 = v2 + i2;
    const float v83 = x_[v82];
    precise const float v84 = v83 - v48;
    precise const float v85 = v84 * uintBitsToFloat(1069066811u);
    precise const float v86 = exp2(v85);
    precise const float v87 = v86 / v81;
    y_[v82] = v87;
  }
}
