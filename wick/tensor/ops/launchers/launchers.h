// The ops as portable kernels carry them out, one function each: it chooses the kernels for the call's shapes and launches them. What a
// dtype needs of the device (missing_ability in tensor/ops/dispatch.h) is there. One file a family; none knows what device it is for.
#pragma once

#include <algorithm>

#include "wick/device/linked_kernels.h"
#include "wick/ir/kernel.h"

namespace wick::launchers {

#define WICK_LAUNCHER(name, ...) void name(const OpCall& call);
WICK_OPS(WICK_LAUNCHER)
#undef WICK_LAUNCHER

// The most rows of activations for which linear takes a norm, biases and a residual: beyond, they are launches of their own in any case.
inline constexpr int64_t kFusedLinearRows = 8;

// Rows of activations for which tiles that lanes set multiply quantized weights: beyond, unpacking a weight for the device's own product
// costs less (28,672 rows of q4_k on an H200: 158 and 167 us for 128 rows, 315 and 194 for 256).
inline constexpr int64_t kMinLaneRows = 2, kMaxLaneRows = 128;
// Whether such a device takes them, and with them norm, biases and residual in, for a weight of that dtype; f16 beyond the fewest rows is
// the device's own product's.
[[nodiscard]] inline bool fuses_lane_rows(DType dtype, int64_t rows, int64_t columns, const DeviceCaps& caps) {
  const int64_t most = is_quantized(dtype) ? kMaxLaneRows : dtype == DType::f16 ? kFusedLinearRows : 0;
  return rows >= kMinLaneRows && rows <= most && columns % 256 == 0 &&
         std::find(caps.tiles.begin(), caps.tiles.end(), ir::kLaneTile) != caps.tiles.end();
}

inline constexpr int64_t kMaxHalvedElements = 128 << 20;  // of a weight that is kept twice
// Products and sums below which a device may leave its own product to the kernels, which know results of f32 only.
inline constexpr int64_t kLargeProduct = 1 << 24;

// Whether the device's own product of f16 multiplies so many rows with a weight [n, k] of that dtype, so that they are rounded to f16, or
// come so. Quantized weights are unpacked as for the kernel with tiles.
[[nodiscard]] inline bool takes_half_rows(DType dtype, int64_t rows, int64_t n, int64_t k, const DeviceCaps& caps) {
  if (k % 8 != 0) return false;
  if (is_quantized(dtype)) return rows > kMaxLaneRows && n * k <= kMaxHalvedElements && !caps.tiles.empty();
  return dtype == DType::f16 && rows > kFusedLinearRows && rows * n * k >= kLargeProduct;
}

// The table of them, which programs hold that link a backend with kernels.
extern const LauncherTable kLaunchers;

}  // namespace wick::launchers
