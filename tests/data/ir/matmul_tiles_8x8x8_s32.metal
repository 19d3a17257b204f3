#include <metal_stdlib>
using namespace metal;
#include <metal_simdgroup_matrix>
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
struct Params { uint m_; uint n_; uint k_; };
kernel void wick_matmul_tiles_8x8x8_s32(device const half* a_ [[buffer(0)]], device const half* b_ [[buffer(1)]], device float* c_ [[buffer(2)]], constant Params& p [[buffer(3)]], uint3 gid [[threadgroup_position_in_grid]], uint3 groups [[threadgroups_per_grid]], uint lid [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  alignas(16) threadgroup half s0[256];
  alignas(16) threadgroup half s1[256];
  simdgroup_matrix<half, 8, 8> t0;
  simdgroup_matrix<half, 8, 8> t1;
  simdgroup_matrix<half, 8, 8> t2;
  simdgroup_matrix<half, 8, 8> t3;
  simdgroup_matrix<float, 8, 8> t4;
  simdgroup_matrix<float, 8, 8> t5;
  simdgroup_matrix<float, 8, 8> t6;
  simdgroup_matrix<float, 8, 8> t7;
  t4 = make_filled_simdgroup_matrix<float, 8, 8>(0x0p+0f);
  t5 = make_filled_simdgroup_matrix<float, 8, 8>(0x0p+0f);
  t6 = make_filled_simdgroup_matrix<float, 8, 8>(0x0p+0f);
  t7 = make_filled_simdgroup_matrix<float, 8, 8>(0x0p+0f);
  const uint v0 = gid.y * 32u;
  const uint v1 = gid.x * 32u;
  const uint v2 = simdgroup / 2u;
  const uint v3 = v2 * 16u;
  const uint v4 = v3 * 8u;
  const uint v5 = simdgroup % 2u;
  const uint v6 = v5 * 16u;
  const uint v7 = v3 + 8u;
  const uint v8 = v7 * 8u;
  const uint v9 = v6 + 8u;
  for (uint i0 = 0u; i0 < p.k_; i0 += 8u) {
    for (uint i1 = lid; i1 < 256u; i1 += 128u) {
      const uint v10 = i1 / 8u;
      const uint v11 = v0 + v10;
      const uint v12 = v11 * p.k_;
      const uint v13 = v12 + i0;
      const uint v14 = i1 % 8u;
      const uint v15 = v13 + v14;
      const half v16 = a_[v15];
      s0[i1] = v16;
    }
    for (uint i2 = lid; i2 < 256u; i2 += 128u) {
      const uint v17 = i2 / 32u;
      const uint v18 = i0 + v17;
      const uint v19 = v18 * p.n_;
      const uint v20 = v19 + v1;
      const uint v21 = i2 % 32u;
      const uint v22 = v20 + v21;
      const half v23 = b_[v22];
      s1[i2] = v23;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_load(t0, &s0[v4], 8u);
    simdgroup_load(t2, &s1[v6], 32u);
    simdgroup_load(t1, &s0[v8], 8u);
    simdgroup_load(t3, &s1[v9], 32u);
    simdgroup_multiply_accumulate(t4, t0, t2, t4);
    simdgroup_multiply_accumulate(t5, t0, t3, t5);
    simdgroup_multiply_accumulate(t6, t1, t2, t6);
    simdgroup_multiply_accumulate(t7, t1, t3, t7);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  const uint v24 = v0 + v3;
  const uint v25 = v24 * p.n_;
  const uint v26 = v25 + v1;
  const uint v27 = v26 + v6;
  simdgroup_store(t4, &c_[v27], p.n_);
  const uint v28 = v27 + 8u;
  simdgroup_store(t5, &c_[v28], p.n_);
  const uint v29 = v24 + 8u;
  const uint v30 = v29 * p.n_;
  const uint v31 = v30 + v1;
  const uint v32 = v31 + v6;
  simdgroup_store(t6, &c_[v32], p.n_);
  const uint v33 = v32 + 8u;
  simdgroup_store(t7, &c_[v33], p.n_);
}
