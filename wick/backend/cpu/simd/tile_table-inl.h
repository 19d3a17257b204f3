// Fills the table of tile kernels for one instruction set: included behind its bit_words_….h.
#pragma once

#include "wick/backend/cpu/simd/tile_formats-inl.h"
#include "wick/backend/cpu/simd/tile_formats_codebook-inl.h"
#include "wick/backend/cpu/simd/tile_formats_plain-inl.h"
#include "wick/backend/cpu/simd/tile_formats_table-inl.h"
#include "wick/backend/cpu/simd/tile_kernels-inl.h"
#include "wick/backend/cpu/simd/tile_pairs-inl.h"

inline void fill_tiles(SimdKernels& kernels) {
  if constexpr (!kDotOnly) {
    set_float_kernels<F16Pairs>(kernels.tile_kernels(DType::f16));
    set_float_kernels<Bf16Pairs>(kernels.tile_kernels(DType::bf16));
  }
  set_kernels<Q40>(kernels.tile_kernels(DType::q4_0));
  set_kernels<Q80>(kernels.tile_kernels(DType::q8_0));
  set_kernels<Q4K>(kernels.tile_kernels(DType::q4_k));
  set_kernels<Q5K>(kernels.tile_kernels(DType::q5_k));
  set_kernels<Q6K>(kernels.tile_kernels(DType::q6_k));
  set_kernels<Q41>(kernels.tile_kernels(DType::q4_1));
  set_kernels<Q50>(kernels.tile_kernels(DType::q5_0));
  set_kernels<Q51>(kernels.tile_kernels(DType::q5_1));
  set_kernels<Q2K, ScaledQ2K>(kernels.tile_kernels(DType::q2_k));
  set_kernels<Q3K, ScaledQ3K>(kernels.tile_kernels(DType::q3_k));
  set_kernels<IQ1S, ScaledIQ1<IQ1S>>(kernels.tile_kernels(DType::iq1_s));
  set_kernels<IQ1M, ScaledIQ1<IQ1M>>(kernels.tile_kernels(DType::iq1_m));
  set_kernels<IQ2XXS>(kernels.tile_kernels(DType::iq2_xxs));
  set_kernels<IQ2XS>(kernels.tile_kernels(DType::iq2_xs));
  set_kernels<IQ2S>(kernels.tile_kernels(DType::iq2_s));
  set_kernels<IQ3XXS>(kernels.tile_kernels(DType::iq3_xxs));
  set_kernels<IQ3S>(kernels.tile_kernels(DType::iq3_s));
  set_kernels<IQ4NL>(kernels.tile_kernels(DType::iq4_nl));
  set_kernels<IQ4XS>(kernels.tile_kernels(DType::iq4_xs));
  set_kernels<TQ10>(kernels.tile_kernels(DType::tq1_0));
  set_kernels<TQ20>(kernels.tile_kernels(DType::tq2_0));
  set_kernels<MXFP4>(kernels.tile_kernels(DType::mxfp4));
  set_kernels<NVFP4>(kernels.tile_kernels(DType::nvfp4));
  set_kernels<Q10>(kernels.tile_kernels(DType::q1_0));
  set_kernels<Q20>(kernels.tile_kernels(DType::q2_0));
}
