// A Layout maps an index to a place in memory: shape, strides and offset, all counted in elements. Views are layouts; no byte moves.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "wick/layout/shape.h"

namespace [[gnu::visibility("default")]] wick {

class Layout {
 public:
  Layout() = default;
  // Row-major, from `offset` on.
  explicit Layout(const Shape& shape, int64_t offset = 0);
  // Any strides, also 0 (broadcast) and negative (flipped); strides.size() must be the rank.
  Layout(const Shape& shape, std::span<const int64_t> strides, int64_t offset);

  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] int rank() const noexcept { return shape_.rank(); }
  [[nodiscard]] int64_t stride(int dim) const noexcept { return strides_[static_cast<size_t>(dim)]; }
  [[nodiscard]] std::span<const int64_t> strides() const noexcept { return {strides_.data(), static_cast<size_t>(rank())}; }
  [[nodiscard]] int64_t offset() const noexcept { return offset_; }
  [[nodiscard]] int64_t elements() const noexcept { return shape_.elements(); }

  // Row-major without gaps; extents of 1 may have any stride.
  [[nodiscard]] bool is_contiguous() const noexcept;
  // The smallest and one past the largest element index touched: (offset, offset) for an empty layout.
  [[nodiscard]] std::pair<int64_t, int64_t> touched_range() const noexcept;

  // Views. Errors: index_out_of_range or shape_mismatch, naming the layout and the argument. `dim` counts from 0.
  [[nodiscard]] Layout narrow(int dim, int64_t start, int64_t length) const;
  [[nodiscard]] Layout transpose(int dim0, int dim1) const;
  [[nodiscard]] Layout permute(std::span<const int> order) const;
  [[nodiscard]] Layout broadcast_to(const Shape& shape) const;
  [[nodiscard]] Layout squeeze(int dim) const;
  [[nodiscard]] Layout unsqueeze(int dim) const;
  [[nodiscard]] Layout flip(int dim) const;
  // The same elements in row-major order under another shape; none where that needs a copy.
  [[nodiscard]] std::optional<Layout> reshape(const Shape& shape) const;

 private:
  void check_dim(int dim, const char* view) const;

  Shape shape_;
  std::array<int64_t, kMaxRank> strides_{};
  int64_t offset_ = 0;
};

// A layout as runs of adjacent elements: `starts` has the offset of each run's first element, in row-major order of the layout.
struct StridedBlocks {
  Layout starts;
  int64_t block_length = 0;
};
// With the longest runs there are: one block for a row-major layout, single elements for a transposed one.
[[nodiscard]] StridedBlocks strided_blocks(const Layout& layout);

// Calls visit(element_offset) for each element of the layout in row-major order of its shape.
template <class Visit>
void for_each_offset(const Layout& layout, Visit&& visit) {
  const int rank = layout.rank();
  if (layout.elements() == 0) return;
  if (rank == 0) {
    visit(layout.offset());
    return;
  }
  std::array<int64_t, kMaxRank> index{};
  const int last = rank - 1;
  const int64_t inner = layout.shape()[last];
  const int64_t inner_stride = layout.stride(last);
  int64_t base = layout.offset();
  while (true) {
    for (int64_t i = 0; i < inner; ++i) visit(base + i * inner_stride);
    int dim = last - 1;
    while (dim >= 0) {
      const auto d = static_cast<size_t>(dim);
      base += layout.stride(dim);
      if (++index[d] < layout.shape()[dim]) break;
      base -= layout.stride(dim) * layout.shape()[dim];
      index[d] = 0;
      --dim;
    }
    if (dim < 0) return;
  }
}

}  // namespace wick
