// The table of inner loops, one instance per instruction set. Each is compiled from one source for all of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wick/backend/cpu/matrix_view.h"
#include "wick/backend/cpu/simd/cache_kernels.h"
#include "wick/backend/cpu/simd/instruction_set.h"
#include "wick/backend/cpu/simd/number_loops.h"
#include "wick/backend/cpu/simd/peak_kernels.h"
#include "wick/backend/cpu/simd/product_kernels.h"
#include "wick/backend/cpu/simd/recurrent_kernels.h"
#include "wick/backend/cpu/simd/row_loops.h"
#include "wick/backend/cpu/simd/tile_kernels.h"
#include "wick/backend/cpu/weights/interleave.h"
#include "wick/base/half.h"
#include "wick/layout/dtype.h"

namespace wick::cpu {

// The most rows of weights that a panel takes at once.
inline constexpr int64_t kPanelRows = 4;

struct SimdKernels {
  InstructionSet set = InstructionSet::scalar;

  // Loops over contiguous elements, by number type.
  AllNumberLoops number_loops;
  ChooseLoops<uint8_t> choose_u8{};
  ChooseLoops<uint32_t> choose_u32{};
  ChooseLoops<int64_t> choose_i64{};
  template <class T>
  [[nodiscard]] NumberLoops<T>& numbers() noexcept {
    return std::get<NumberLoops<T>>(number_loops);
  }
  template <class T>
  [[nodiscard]] const NumberLoops<T>& numbers() const noexcept {
    return std::get<NumberLoops<T>>(number_loops);
  }
  AllRowLoops row_loops;
  template <class T>
  [[nodiscard]] const RowLoops<T>& rows() const noexcept {
    return std::get<RowLoops<T>>(row_loops);
  }
  template <class Body>
  void for_each_number(const Body& body) {
    std::apply([&](auto&... loops) { (body(loops), ...); }, number_loops);
  }

  // The activation of a gated pair over n floats; out may be an operand.
  using GateMultiply = void (*)(const float* gate, const float* up, float* out, size_t n);
  std::array<GateMultiply, kGateKindCount> gate_multiply{};

  // Conversions of n elements.
  void (*f16_to_f32)(const uint16_t* x, float* out, size_t n) = nullptr;
  void (*f32_to_f16)(const float* x, uint16_t* out, size_t n) = nullptr;
  void (*bf16_to_f32)(const uint16_t* x, float* out, size_t n) = nullptr;
  void (*f32_to_bf16)(const float* x, uint16_t* out, size_t n) = nullptr;
  void (*q8_0_to_f32)(const std::byte* blocks, float* out, size_t n) = nullptr;
  // The bytes of pack() (quant/block_format.h); a block with NaN or Inf in it gets a NaN for its scale. n is a multiple of 32.
  void (*f32_to_q8_0)(const float* x, std::byte* blocks, size_t n) = nullptr;
  void (*q4_0_to_f32)(const std::byte* blocks, float* out, size_t n) = nullptr;

  // out = x · weightsᵀ, for 1 to kPanelRows rows of weights. Sums in f32.
  template <class Weight>
  using Panel = void (*)(const MatrixView<const Weight>& weights, const MatrixView<const float>& x, const MatrixView<float>& out);
  Panel<float> panel = nullptr;
  Panel<f16> panel_f16 = nullptr;
  Panel<bf16> panel_bf16 = nullptr;
  // Register tiles and packing of matrix products of any size (gemm.h).
  ProductKernels product;
  PeakKernels peaks;
  // Online-softmax helpers: largest of n scores; out = e^(x - largest), returning their sum.
  float (*largest)(const float* x, size_t n) = nullptr;
  float (*exp_and_sum)(const float* x, float largest, float* out, size_t n) = nullptr;
  void (*scale)(float* x, float factor, size_t n) = nullptr;
  // Attention of single tokens, by the format of the cache's rows.
  CacheKernels cache_f32;
  CacheKernels cache_f16;
  CacheKernels cache_bf16;
  CacheKernels cache_q8_0;
  RecurrentKernels recurrent;

  // `blocks` blocks of the stream of random numbers from number `block` on, and uniform numbers from n words (f64: 2n) of it.
  void (*philox)(uint64_t seed, uint64_t block, uint32_t* words, size_t blocks) = nullptr;
  template <class T>
  struct Uniform {
    T low, span, cap;  // at least low, at most cap
  };
  void (*uniform_f32)(const uint32_t* words, int bits, const Uniform<float>& range, float* out, size_t n) = nullptr;
  void (*uniform_f64)(const uint32_t* words, const Uniform<double>& range, double* out, size_t n) = nullptr;

  // One row of activations (n a multiple of form.columns) rounded to 8 bits, with the starts and sums that the form asks for; `sums` only
  // where it has minima. Written as a row of a panel of `rows`: see Activations. NaN and Inf give a NaN scale.
  struct QuantizedRow {
    int8_t* quants;
    float* scales;
    int32_t* starts;
    float* sums = nullptr;
  };
  void (*quantize_row)(const float* x, int64_t n, const ActivationForm& form, int64_t rows, const QuantizedRow& out) = nullptr;
  // The same rounded to bf16, and as the sum of two bf16, n a multiple of 32; nullptr where no kernel wants that.
  void (*round_row)(const float* x, int64_t n, int64_t rows, bf16* rounded) = nullptr;
  void (*split_row)(const float* x, int64_t n, int64_t rows, bf16* parts) = nullptr;
  // Used by interleave_tile().
  GatherWords gather_words = cpu::gather_words;
  // By the weights' dtype; `multiply` is nullptr where there is no kernel for this instruction set.
  std::array<TileKernels, kDTypeCount> tiles{};

  [[nodiscard]] TileKernels& tile_kernels(DType dtype) noexcept { return tiles[static_cast<size_t>(dtype)]; }
  [[nodiscard]] const TileKernels& tile_kernels(DType dtype) const noexcept { return tiles[static_cast<size_t>(dtype)]; }
};

// The table of that instruction set, which must be usable here.
[[nodiscard]] const SimdKernels& simd_kernels(InstructionSet set);

// Each source file under simd/ fills its part of the table.
void fill_amx_products(SimdKernels& kernels);
void fill_bf16_kernels(SimdKernels& kernels);
void fill_binary_loops(SimdKernels& kernels);
void fill_cache_kernels(SimdKernels& kernels);
void fill_compare_loops(SimdKernels& kernels);
void fill_convert_kernels(SimdKernels& kernels);
void fill_division_loops(SimdKernels& kernels);
void fill_float_kernels(SimdKernels& kernels);
void fill_integer_loops(SimdKernels& kernels);
void fill_interleave_kernels(SimdKernels& kernels);
void fill_number_conversions(SimdKernels& kernels);
void fill_panel_kernels(SimdKernels& kernels);
void fill_peak_kernels(SimdKernels& kernels);
void fill_pow_loops(SimdKernels& kernels);
void fill_wide_loops(SimdKernels& kernels);
void fill_product_kernels(SimdKernels& kernels);
void fill_quantize_kernels(SimdKernels& kernels);
void fill_random_kernels(SimdKernels& kernels);
void fill_recurrent_kernels(SimdKernels& kernels);
void fill_reduce_loops(SimdKernels& kernels);
void fill_row_loops(SimdKernels& kernels);
void fill_unary_f32_loops(SimdKernels& kernels);
void fill_unary_f64_loops(SimdKernels& kernels);
void fill_tiles_amx(SimdKernels& kernels);
void fill_tiles_avx2(SimdKernels& kernels);
void fill_tiles_avx512(SimdKernels& kernels);
void fill_tiles_avx512_bf16(SimdKernels& kernels);
void fill_tiles_avx_vnni(SimdKernels& kernels);
void fill_tiles_neon(SimdKernels& kernels);
void fill_tiles_neon_dot(SimdKernels& kernels);
void fill_tiles_neon_i8mm(SimdKernels& kernels);

}  // namespace wick::cpu
