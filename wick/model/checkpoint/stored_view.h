// A StoredView says where the elements of a tensor are in one that a file stores otherwise: transposed, by halves, expert by expert.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "wick/base/mapped_file.h"

namespace wick {

// Element (i, j, k) of the view is element first + i·strides[0] + j·strides[1] + k·strides[2] of `data`.
struct StoredView {
  std::span<const std::byte> data = {};
  std::shared_ptr<const MappedFile> file = {};
  size_t element_bytes = 0;
  int64_t first = 0;
  std::array<int64_t, 3> extents = {1, 1, 1};
  std::array<int64_t, 3> strides = {0, 0, 1};

  [[nodiscard]] int64_t elements() const noexcept { return extents[0] * extents[1] * extents[2]; }
};

// The elements of the views one behind the other, row by row; pages of the files that were read are forgotten.
void write_views(std::span<const StoredView> views, std::span<std::byte> to);

}  // namespace wick
