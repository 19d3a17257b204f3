// Rows of random weights in any storage format, written as bytes: no float is ever quantized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wick/layout/dtype.h"

namespace wick {

// Fills one row of `dtype` with weights of mean 0 and standard deviation 0.02: codes, and the scales of parts of a block, are random
// bits, whose own scale is set to fit. (The nearest blocks to normal numbers would take a search, minutes for some formats.)
// The bytes depend on `seed` alone.
void fill_random_row(DType dtype, uint64_t seed, std::span<std::byte> row);

// The scale that belongs behind a whole tensor of i2_s.
[[nodiscard]] float random_i2_s_scale() noexcept;

// Whether fill_random_row knows the format: f32, f16, bf16, i2_s and every block format of weights.
[[nodiscard]] bool has_random_rows(DType dtype) noexcept;

// Seeds of independent rows out of one.
[[nodiscard]] uint64_t mix_seed(uint64_t seed, uint64_t index) noexcept;

}  // namespace wick
