// Axes are some dimensions of an input and its output, collapsed where they lie without gaps in both.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wick/layout/layout.h"

namespace wick::cpu {

// One dimension of an op's first input and output.
struct Axis {
  int64_t extent = 1;
  int64_t step = 0;      // bytes of the input
  int64_t out_step = 0;  // bytes of the output
};

// A few axes, outermost first.
struct Axes {
  std::array<Axis, kMaxRank> list;
  int rank = 0;

  void push(const Axis& axis) {
    if (axis.extent == 1) return;
    Axis* last = rank == 0 ? nullptr : &list[static_cast<size_t>(rank - 1)];
    if (last != nullptr && last->step == axis.step * axis.extent && last->out_step == axis.out_step * axis.extent) {
      *last = {last->extent * axis.extent, axis.step, axis.out_step};
    } else {
      list[static_cast<size_t>(rank++)] = axis;
    }
  }
  [[nodiscard]] std::span<const Axis> all() const { return std::span(list).first(static_cast<size_t>(rank)); }
  [[nodiscard]] int64_t count() const {
    int64_t product = 1;
    for (const Axis& axis : all()) product *= axis.extent;
    return product;
  }
};

// Where the index-th element of some axes is, in row-major order.
struct Place {
  int64_t in = 0;
  int64_t out = 0;
};
[[nodiscard]] inline Place place_of(const Axes& axes, int64_t index) {
  Place place;
  for (int dim = axes.rank - 1; dim >= 0; --dim) {
    const Axis& axis = axes.list[static_cast<size_t>(dim)];
    const int64_t at = dim == 0 ? index : index % axis.extent;
    index /= axis.extent;
    place.in += at * axis.step;
    place.out += at * axis.out_step;
  }
  return place;
}

}  // namespace wick::cpu
