// Rows of random weights in any storage format, written as bytes: no float is ever quantized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "layout/dtype.h"

namespace wick {

// Fills one row of `dtype` (f32 f16 bf16 q8_0 q4_0 q4_k q5_k q6_k) with weights of mean 0 and standard deviation 0.02.
// The bytes depend on `seed` alone.
void fill_random_row(DType dtype, uint64_t seed, std::span<std::byte> row);

// Whether fill_random_row knows the format.
[[nodiscard]] bool has_random_rows(DType dtype) noexcept;

// Seeds of independent rows out of one.
[[nodiscard]] uint64_t mix_seed(uint64_t seed, uint64_t index) noexcept;

}  // namespace wick
