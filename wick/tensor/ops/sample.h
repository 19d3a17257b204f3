// sample: a token drawn from each row of logits on the device, the same one as sample_token() draws on the host.
#pragma once

#include <cstdint>
#include <span>

#include "wick/op/sample.h"
#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {

// logits f32 [rows, tokens]; settings f32 [rows, 4]: 1 / temperature (0: the most likely token), top_k (0: all), top_p, min_p; draws u32
// [rows, 4]: seed and number of the draw, the lower half of each first. Result: i32 [rows], -1 where a row has no distribution. op/sample.h
// defines it. Errors: shape_mismatch, dtype_mismatch.
[[nodiscard]] Tensor sample(const Tensor& logits, const Tensor& settings, const Tensor& draws);
// The same with one row of settings a row of logits.
[[nodiscard]] Tensor sample(const Tensor& logits, std::span<const SampleSettings> settings);

}  // namespace wick
