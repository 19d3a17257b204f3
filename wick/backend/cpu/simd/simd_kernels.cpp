#include "wick/backend/cpu/simd/simd_kernels.h"

#include <array>

#include "wick/backend/cpu/simd/library_loops.h"

namespace wick::cpu {
namespace {

SimdKernels build(InstructionSet set) {
  SimdKernels kernels;
  kernels.set = set;
  fill_binary_loops(kernels);
  fill_cache_kernels(kernels);
  fill_compare_loops(kernels);
  fill_division_loops(kernels);
  fill_convert_kernels(kernels);
  fill_float_kernels(kernels);
  fill_integer_loops(kernels);
  fill_interleave_kernels(kernels);
  fill_library_loops(kernels);
  fill_wide_loops(kernels);
  fill_number_conversions(kernels);
  fill_panel_kernels(kernels);
  fill_peak_kernels(kernels);
  fill_pow_loops(kernels);
  fill_product_kernels(kernels);
  fill_quantize_kernels(kernels);
  fill_random_kernels(kernels);
  fill_recurrent_kernels(kernels);
  fill_reduce_loops(kernels);
  fill_row_loops(kernels);
  fill_unary_f32_loops(kernels);
  fill_unary_f64_loops(kernels);
  fill_tiles_avx2(kernels);
  fill_tiles_avx_vnni(kernels);
  fill_tiles_avx512(kernels);
  fill_tiles_neon(kernels);
  fill_tiles_neon_dot(kernels);
  fill_tiles_neon_i8mm(kernels);
  fill_bf16_kernels(kernels);
  fill_tiles_avx512_bf16(kernels);
  fill_tiles_amx(kernels);
  fill_amx_products(kernels);
  return kernels;
}

}  // namespace

// Code that fills a table is compiled for the table's instruction set: only tables of usable sets are filled.
const SimdKernels& simd_kernels(InstructionSet set) {
  static const std::array<SimdKernels, kInstructionSetNames.size()> tables = [] {
    std::array<SimdKernels, kInstructionSetNames.size()> built;
    for (const InstructionSet usable : usable_instruction_sets()) built[static_cast<size_t>(usable)] = build(usable);
    return built;
  }();
  return tables[static_cast<size_t>(set)];
}

}  // namespace wick::cpu
