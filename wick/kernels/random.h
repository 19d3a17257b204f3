// Random numbers of the stream that op/philox.h defines.
#pragma once

#include <array>

#include "wick/ir/builder.h"
#include "wick/ir/kernel.h"
#include "wick/layout/dtype.h"
#include "wick/op/device_caps.h"

namespace wick::kernels {

// A block of the stream: Philox 4x32-10 of op/philox.h.
[[nodiscard]] std::array<ir::Value, 4> philox(std::array<ir::Value, 4> counter, std::array<ir::Value, 2> key);

enum class RandomNumbers : uint8_t { uniform, normal };

// Buffer y, row-major. Parameters: count, offset; seed and the number of the first block of four words, two words each, the lower one
// first. Then the numbers that follow, f64 ones as two words: for uniform numbers low, span, cap and scale, which is a power of two; the
// first two come divided by it, so that no product overflows. For normal ones mean and deviation. A lane computes the elements of a block:
// four, of f64 two.
[[nodiscard]] ir::Kernel random(RandomNumbers numbers, DType dtype, const DeviceCaps& caps);

}  // namespace wick::kernels
