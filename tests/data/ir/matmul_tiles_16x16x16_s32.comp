#version 460
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 128, local_size_y = 1, local_size_z = 1) in;
layout(set = 0, binding = 0, std430) restrict readonly buffer Buffer0 { float16_t a_[]; };
layout(set = 0, binding = 1, std430) restrict readonly buffer Buffer1 { float16_t b_[]; };
layout(set = 0, binding = 2, std430) restrict buffer Buffer2 { float c_[]; };
layout(push_constant) uniform Params { uint m_; uint n_; uint k_; } p;
shared float16_t s0[1024];
shared float16_t s1[1024];
void main() {
  coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> t0;
  coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> t1;
  coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> t2;
  coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> t3;
  coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> t4;
  coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> t5;
  coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> t6;
  coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> t7;
  t4 = coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(uintBitsToFloat(0u));
  t5 = coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(uintBitsToFloat(0u));
  t6 = coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(uintBitsToFloat(0u));
  t7 = coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(uintBitsToFloat(0u));
  const uint v0 = gl_WorkGroupID.y * 64u;
  const uint v1 = gl_WorkGroupID.x * 64u;
  const uint v2 = gl_SubgroupID / 2u;
  const uint v3 = v2 * 32u;
  const uint v4 = v3 * 16u;
  const uint v5 = gl_SubgroupID % 2u;
  const uint v6 = v5 * 32u;
  const uint v7 = v3 + 16u;
  const uint v8 = v7 * 16u;
  const uint v9 = v6 + 16u;
  for (uint i0 = 0u; i0 < p.k_; i0 += 16u) {
    for (uint i1 = gl_LocalInvocationIndex; i1 < 1024u; i1 += 128u) {
      const uint v10 = i1 / 16u;
      const uint v11 = v0 + v10;
      const uint v12 = v11 * p.k_;
      const uint v13 = v12 + i0;
      const uint v14 = i1 % 16u;
      const uint v15 = v13 + v14;
      const float16_t v16 = a_[v15];
      s0[i1] = v16;
    }
    for (uint i2 = gl_LocalInvocationIndex; i2 < 1024u; i2 += 128u) {
      const uint v17 = i2 / 64u;
      const uint v18 = i0 + v17;
      const uint v19 = v18 * p.n_;
      const uint v20 = v19 + v1;
      const uint v21 = i2 % 64u;
      const uint v22 = v20 + v21;
      const float16_t v23 = b_[v22];
      s1[i2] = v23;
    }
    barrier();
    coopMatLoad(t0, s0, v4, 16u, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(t2, s1, v6, 64u, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(t1, s0, v8, 16u, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(t3, s1, v9, 64u, gl_CooperativeMatrixLayoutRowMajor);
    t4 = coopMatMulAdd(t0, t2, t4);
    t5 = coopMatMulAdd(t0, t3, t5);
    t6 = coopMatMulAdd(t1, t2, t6);
    t7 = coopMatMulAdd(t1, t3, t7);
    barrier();
  }
  const uint v24 = v0 + v3;
  const uint v25 = v24 * p.n_;
  const uint v26 = v25 + v1;
  const uint v27 = v26 + v6;
  coopMatStore(t4, c_, v27, p.n_, gl_CooperativeMatrixLayoutRowMajor);
  const uint v28 = v27 + 16u;
  coopMatStore(t5, c_, v28, p.n_, gl_CooperativeMatrixLayoutRowMajor);
  const uint v29 = v24 + 16u;
  const uint v30 = v29 * p.n_;
  const uint v31 = v30 + v1;
  const uint v32 = v31 + v6;
  coopMatStore(t6, c_, v32, p.n_, gl_CooperativeMatrixLayoutRowMajor);
  const uint v33 = v32 + 16u;
  coopMatStore(t7, c_, v33, p.n_, gl_CooperativeMatrixLayoutRowMajor);
}
