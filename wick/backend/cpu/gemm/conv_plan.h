// A ConvPlan turns conv2d and conv_transpose2d into one form: grids of output pixels, each a sum over taps of the input.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "wick/backend/cpu/cpu_runtime.h"

namespace wick::cpu {

// One element of the kernel: it meets input pixel (step · q + place) for pixel q of its grid.
struct ConvTap {
  std::array<int64_t, 2> place;
  int64_t kernel_offset;  // in elements of the kernel's storage, from the first element of a pair of channels
};

// Output pixels (first + q · out_step), q in [0, extents). conv2d has one grid; conv_transpose2d has one for each remainder by its stride,
// in which only the kernel elements of that remainder take part, so that no product with an inserted zero is computed.
struct ConvGrid {
  std::array<int64_t, 2> extents;
  std::array<int64_t, 2> first;
  std::array<int64_t, 2> out_step;
  std::array<int64_t, 2> step;
  std::vector<ConvTap> taps;
};

struct ConvPlan {
  int64_t batch;
  int64_t groups;
  int64_t in_channels;   // of one group
  int64_t out_channels;  // of one group
  std::array<int64_t, 2> in_image;
  std::array<int64_t, 2> out_image;
  // Strides of the kernel: from one group, output channel and input channel to the next.
  int64_t kernel_group_stride;
  int64_t kernel_out_stride;
  int64_t kernel_in_stride;
  std::vector<ConvGrid> grids;
};

// `kernel_strides`: of the kernel's elements as they are read.
[[nodiscard]] ConvPlan plan_conv(const OpCall& call, const std::array<int64_t, 4>& kernel_strides);

}  // namespace wick::cpu
