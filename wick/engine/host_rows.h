// Rows of f32 where the host reads them.
#pragma once

#include <span>
#include <vector>

#include "wick/device/device.h"
#include "wick/tensor/tensor.h"

namespace wick {

// The numbers of a contiguous f32 tensor, once they are computed: where they lie, or in `memory` for a device with memory of its own.
// Errors: device_lost.
[[nodiscard]] std::span<const float> host_rows(const Tensor& tensor, std::vector<float>& memory);

}  // namespace wick
