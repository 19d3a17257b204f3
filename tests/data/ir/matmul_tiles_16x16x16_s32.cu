#include <cuda_fp16.h>
#include <mma.h>
struct Params { unsigned m_; unsigned n_; unsigned k_; };
extern "C" __global__ void __launch_bounds__(128) wick_matmul_tiles_16x16x16_s32(const __half* __restrict__ a_, const __half* __restrict__ b_, float* __restrict__ c_, const Params p) {
  alignas(16) __shared__ __half s0[1024];
  alignas(16) __shared__ __half s1[1024];
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, nvcuda::wmma::row_major> t0;
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, nvcuda::wmma::row_major> t1;
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, __half, nvcuda::wmma::row_major> t2;
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, __half, nvcuda::wmma::row_major> t3;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> t4;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> t5;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> t6;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> t7;
  nvcuda::wmma::fill_fragment(t4, 0x0p+0f);
  nvcuda::wmma::fill_fragment(t5, 0x0p+0f);
  nvcuda::wmma::fill_fragment(t6, 0x0p+0f);
  nvcuda::wmma::fill_fragment(t7, 0x0p+0f);
  const unsigned v0 = blockIdx.y * 64u;
  const unsigned v1 = blockIdx.x * 64u;
  const unsigned v2 = (threadIdx.x / 32u) / 2u;
  const unsigned v3 = v2 * 32u;
  const unsigned v4 = v3 * 16u;
  const unsigned v5 = (threadIdx.x / 32u) % 2u;
  const unsigned v6 = v5 * 32u;
  const unsigned v7 = v3 + 16u;
  const unsigned v8 = v7 * 16u;
  const unsigned v9 = v6 + 16u;
  for (unsigned i0 = 0u; i0 < p.k_; i0 += 16u) {
    for (unsigned i1 = threadIdx.x; i1 < 1024u; i1 += 128u) {
      const unsigned v10 = i1 / 16u;
      const unsigned v11 = v0 + v10;
      const unsigned v12 = v11 * p.k_;
      const unsigned v13 = v12 + i0;
      const unsigned v14 = i1 % 16u;
      const unsigned v15 = v13 + v14;
      const __half v16 = a_[v15];
      s0[i1] = v16;
    }
    for (unsigned i2 = threadIdx.x; i2 < 1024u; i2 += 128u) {
      const unsigned v17 = i2 / 64u;
      const unsigned v18 = i0 + v17;
      const unsigned v19 = v18 * p.n_;
      const unsigned v20 = v19 + v1;
      const unsigned v21 = i2 % 64u;
      const unsigned v22 = v20 + v21;
      const __half v23 = b_[v22];
      s1[i2] = v23;
    }
    __syncthreads();
    nvcuda::wmma::load_matrix_sync(t0, &s0[v4], 16u);
    nvcuda::wmma::load_matrix_sync(t2, &s1[v6], 64u);
    nvcuda::wmma::load_matrix_sync(t1, &s0[v8], 16u);
    nvcuda::wmma::load_matrix_sync(t3, &s1[v9], 64u);
    nvcuda::wmma::mma_sync(t4, t0, t2, t4);
    nvcuda::wmma::mma_sync(t5, t0, t3, t5);
    nvcuda::wmma::mma_sync(t6, t1, t2, t6);
    nvcuda::wmma::mma_sync(t7, t1, t3, t7);
    __syncthreads();
  }
  const unsigned v24 = v0 + v3;
  const unsigned v25 = v24 * p.n_;
  const unsigned v26 = v25 + v1;
  const unsigned v27 = v26 + v6;
  nvcuda::wmma::store_matrix_sync(&c_[v27], t4, p.n_, nvcuda::wmma::mem_row_major);
  const unsigned v28 = v27 + 16u;
  nvcuda::wmma::store_matrix_sync(&c_[v28], t5, p.n_, nvcuda::wmma::mem_row_major);
  const unsigned v29 = v24 + 16u;
  const unsigned v30 = v29 * p.n_;
  const unsigned v31 = v30 + v1;
  const unsigned v32 = v31 + v6;
  nvcuda::wmma::store_matrix_sync(&c_[v32], t6, p.n_, nvcuda::wmma::mem_row_major);
  const unsigned v33 = v32 + 16u;
  nvcuda::wmma::store_matrix_sync(&c_[v33], t7, p.n_, nvcuda::wmma::mem_row_major);
}
