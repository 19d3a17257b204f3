// Whole numbers as vectors.
#pragma once

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

// ids of any shape -> [ids' shape..., depth] of that dtype: `on` at each id's place, `off` elsewhere; -1 has no place.
// Errors: dtype_mismatch for ids that are no integers; index_out_of_range for an id that is neither -1 nor in 0 … depth - 1.
[[nodiscard]] Tensor one_hot(const Tensor& ids, int64_t depth, DType dtype = DType::f32, double on = 1, double off = 0);

}  // namespace nn
}  // namespace wick
