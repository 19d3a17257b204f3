// linear: activations times weights as models store them, [out, in], quantized or float; and the gated pair of a feed-forward layer.
#pragma once

#include <span>
#include <vector>

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {

// x f32 [..., k], row-major; weight [n, k] of any dtype. Result: f32 [..., n]. With `precise` both stay what they are; without it a device
// may round activations to 8 bits per block of 32, or of 256 where the weight's blocks have 256, or x and weights that are not f32 to bf16
// or f16, which saturates beyond ±65504 (of weights already beyond ±32,000). Errors: shape_mismatch, dtype_mismatch.
[[nodiscard]] Tensor linear(const Tensor& x, const Tensor& weight, const LinearParams& params = {});
// One result a weight (at most three), for less than the calls one by one: the activations are read and rounded once.
[[nodiscard]] std::vector<Tensor> linear(const Tensor& x, std::span<const Tensor* const> weights, const LinearParams& params = {});
// silu(x · gateᵀ) · (x · upᵀ): SwiGLU's inner part (Shazeer 2020). gate and up: [n, k] of one dtype.
[[nodiscard]] Tensor gated_linear(const Tensor& x, const Tensor& gate, const Tensor& up, const LinearParams& params = {});

// A copy of the weight, of the same size, in the layout that the device's linear likes best; the weight itself where the device has
// no such layout or the weight's rows are not in order. The copy has an interleaved dtype (quant/interleave.h).
[[nodiscard]] Tensor repack_for_linear(const Tensor& weight);

}  // namespace wick
