// Fills the table of tile kernels for one instruction set: included behind its bit_words_….h.
#pragma once

#include "wick/backend/cpu/simd/tile_formats-inl.h"
#include "wick/backend/cpu/simd/tile_formats_codebook-inl.h"
#include "wick/backend/cpu/simd/tile_formats_plain-inl.h"
#include "wick/backend/cpu/simd/tile_formats_table-inl.h"
#include "wick/backend/cpu/simd/tile_kernels-inl.h"
#include "wick/backend/cpu/simd/tile_pairs-inl.h"

inline void fill_tiles(SimdKernels& kernels) {
  kernels.tile_kernels(DType::f16_x16) = float_kernels_of<F16Pairs>();
  kernels.tile_kernels(DType::bf16_x16) = float_kernels_of<Bf16Pairs>();
  kernels.tile_kernels(DType::q4_0_x16) = kernels_of<Q40>();
  kernels.tile_kernels(DType::q8_0_x16) = kernels_of<Q80>();
  kernels.tile_kernels(DType::q4_k_x16) = kernels_of<Q4K>();
  kernels.tile_kernels(DType::q5_k_x16) = kernels_of<Q5K>();
  kernels.tile_kernels(DType::q6_k_x16) = kernels_of<Q6K>();
  kernels.tile_kernels(DType::q4_1_x16) = kernels_of<Q41>();
  kernels.tile_kernels(DType::q5_0_x16) = kernels_of<Q50>();
  kernels.tile_kernels(DType::q5_1_x16) = kernels_of<Q51>();
  kernels.tile_kernels(DType::q2_k_x16) = kernels_of<Q2K, ScaledQ2K>();
  kernels.tile_kernels(DType::q3_k_x16) = kernels_of<Q3K, ScaledQ3K>();
  kernels.tile_kernels(DType::iq1_s_x16) = kernels_of<IQ1S, ScaledIQ1<IQ1S>>();
  kernels.tile_kernels(DType::iq1_m_x16) = kernels_of<IQ1M, ScaledIQ1<IQ1M>>();
  kernels.tile_kernels(DType::iq2_xxs_x16) = kernels_of<IQ2XXS>();
  kernels.tile_kernels(DType::iq2_xs_x16) = kernels_of<IQ2XS>();
  kernels.tile_kernels(DType::iq2_s_x16) = kernels_of<IQ2S>();
  kernels.tile_kernels(DType::iq3_xxs_x16) = kernels_of<IQ3XXS>();
  kernels.tile_kernels(DType::iq3_s_x16) = kernels_of<IQ3S>();
  kernels.tile_kernels(DType::iq4_nl_x16) = kernels_of<IQ4NL>();
  kernels.tile_kernels(DType::iq4_xs_x16) = kernels_of<IQ4XS>();
  kernels.tile_kernels(DType::tq1_0_x16) = kernels_of<TQ10>();
  kernels.tile_kernels(DType::tq2_0_x16) = kernels_of<TQ20>();
  kernels.tile_kernels(DType::mxfp4_x16) = kernels_of<MXFP4>();
  kernels.tile_kernels(DType::nvfp4_x16) = kernels_of<NVFP4>();
  kernels.tile_kernels(DType::q1_0_x16) = kernels_of<Q10>();
  kernels.tile_kernels(DType::q2_0_x16) = kernels_of<Q20>();
}
