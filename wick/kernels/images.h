// Convolutions, pooling and resizing of images, one lane for each element of the result.
#pragma once

#include "wick/ir/kernel.h"
#include "wick/layout/dtype.h"
#include "wick/op/device_caps.h"

namespace wick::kernels {

// Grid of all: groups_for(count), where count is that of the result's elements, [batch, channels, height, width], row-major.

// Buffers x, weight, y, row-major. Parameters count; x_first, weight_first, y_first; of the result channels, height, width; of x channels,
// height, width; groups; then of height and width: kernel, padding, stride, dilation. ConvParams in op/op.h has the formulas. Sums are
// in compute_type(dtype).
enum class ConvDirection { forward, transposed };
[[nodiscard]] ir::Kernel conv2d(DType dtype, ConvDirection direction, const DeviceCaps& caps);

// The kernels below take x in any strides: parameters count; of the result channels, height, width, y_first; of x the offset and strides.

// Buffers x, y. Parameters also kernel and stride, of height and width each.
[[nodiscard]] ir::Kernel avg_pool2d(DType dtype, const DeviceCaps& caps);
// Buffers x and y (key_element), places (u32). Parameters also places_first and x_width: places count elements of an image.
[[nodiscard]] ir::Kernel max_pool2d(DType dtype, const DeviceCaps& caps);

// Buffers x, taps (u32), y, of elements of that size: the source of each row, and then of each column.
[[nodiscard]] ir::Kernel upsample_nearest(uint32_t element_bytes, const DeviceCaps& caps);
// Buffers x, taps (u32), weights (of the compute type), y: two sources of each row and then of each column, and the weight of the second.
[[nodiscard]] ir::Kernel upsample_bilinear(DType dtype, const DeviceCaps& caps);

}  // namespace wick::kernels
