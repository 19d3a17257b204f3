// Loops over host memory for results that depend on elements as a whole: where a mask is set, what it chooses, the k-th smallest of a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wick/layout/shape.h"

namespace wick {

// How many bytes are not 0.
[[nodiscard]] int64_t count_set(std::span<const uint8_t> mask) noexcept;
// Where they are, in ascending order; `places` has room for count_set(mask).
void write_set_places(std::span<const uint8_t> mask, uint32_t* places) noexcept;
// The same as one index for each dimension of the mask's shape: [count_set(mask), rank]. Index: uint32_t or int64_t.
template <class Index>
void write_set_indices(std::span<const uint8_t> mask, const Shape& shape, Index* indices) noexcept;
// The elements of `size` bytes (1, 2, 4 or 8) where the mask is set.
void write_chosen(std::span<const uint8_t> mask, const std::byte* elements, int64_t size, std::byte* chosen) noexcept;

// The position of the k-th smallest, counted from 0, in each row of `length` elements: equal ones are in the order of a stable sort. A row
// with NaN gives its first NaN. T: float, int32_t or uint32_t.
template <class T>
void write_kth_places(std::span<const T> rows, int64_t length, int64_t k, uint32_t* places);

}  // namespace wick
