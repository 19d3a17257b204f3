// linear: activations times weights as models store them, [out, in], quantized or float; the gated pair of a feed-forward layer; and both
// with the weights of a mixture's experts.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {

inline constexpr size_t kMaxLinearWeights = 3;

// Inputs of the product in addition to x and the weights; null ones are left out. The result is that of the plain ops, one after
// the other; a device that declares so (Runtime::fused_linear_rows) computes all of it in one call.
struct LinearFusion {
  const Tensor* norm = nullptr;  // [k]: x goes through rms_norm(x, norm, epsilon) first
  float epsilon = 1e-5F;
  std::array<const Tensor*, kMaxLinearWeights> biases{};  // [n] of each weight, added to its products
  const Tensor* residual = nullptr;                       // of the result's shape, added to it; for one weight alone
};

// Whether linear and gated_linear of such an x and these weights take a norm, biases and a residual in, in one call, for less than other
// ops cost. Where they do not, a caller who has a cheaper way than the plain ops (add_rms_norm for a sum and its norm) takes that.
[[nodiscard]] bool fuses_linear(const Tensor& x, std::span<const Tensor* const> weights, const LinearParams& params);

// The dtype in which linear and gated_linear of these weights read so many rows of x: f16 where the device's own product rounds them to
// that in any case, else f32. An op before that rounds its result to it saves a pass, and changes no bit.
[[nodiscard]] DType linear_input_dtype(int64_t rows, std::span<const Tensor* const> weights, const LinearParams& params = {});

// x f32, f16 or bf16 [..., k]; weight [n, k] of any dtype: a whole tensor or a range of its rows (i2_s only whole). Result: f32 [..., n].
// With `precise` both stay what they are; without it a device may round activations to 8 bits per block of 32, or of 256 where the
// weight's blocks have 256, or x and weights that are not f32 to bf16 or f16, which saturates beyond ±65504 (of weights already beyond
// ±32,000). Errors: shape_mismatch, dtype_mismatch.
[[nodiscard]] Tensor linear(const Tensor& x, const Tensor& weight, const LinearParams& params = {}, const LinearFusion& fusion = {});
// One result a weight (at most three), for less than the calls one by one: the activations are read and rounded once.
[[nodiscard]] std::vector<Tensor> linear(const Tensor& x, std::span<const Tensor* const> weights, const LinearParams& params = {},
                                         const LinearFusion& fusion = {});
// activation(x · gateᵀ, x · upᵀ), where params.gate names the activation of the pair: the inner part of SwiGLU, GeGLU (Shazeer 2020) and
// of their kin; swiglu_oai is gpt-oss'. gate and up: [n, k] of one dtype. `fusion` has no residual; its biases are gate's and up's. The
// result is rounded to `dtype`, f32 or f16 (linear_input_dtype); of many rows gate and up may be f16, too.
[[nodiscard]] Tensor gated_linear(const Tensor& x, const Tensor& gate, const Tensor& up, const LinearParams& params = {},
                                  const LinearFusion& fusion = {}, DType dtype = DType::f32);
// The activation alone: gate and up f32 of one shape.
[[nodiscard]] Tensor apply_gate(GateKind kind, const Tensor& gate, const Tensor& up);

// Each token's products with the experts that it names. x [tokens, k], or [tokens, used, k] where each pair of token and expert has a row
// of its own; weight [experts, n, k]; ids i32 or u32 [tokens, used]; bias, if not null, f32 [experts, n]. Result: f32 [tokens, used, n].
// Only the weights of experts that are named are read, each once for all of its rows. Errors: those of linear; index_out_of_range for an id
// outside of the experts on the CPU; elsewhere, where nobody waits for ids, that pair's results are NaN.
[[nodiscard]] Tensor linear_experts(const Tensor& x, const Tensor& weight, const Tensor& ids, const LinearParams& params = {},
                                    const Tensor* bias = nullptr);
// The same of gated_linear; both biases or none.
[[nodiscard]] Tensor gated_linear_experts(const Tensor& x, const Tensor& gate, const Tensor& up, const Tensor& ids,
                                          const LinearParams& params = {}, const Tensor* gate_bias = nullptr,
                                          const Tensor* up_bias = nullptr);

// Lets the device prepare a weight [n, k] or [experts, n, k] that will be multiplied often (Runtime::prepare_weight), for this tensor and
// all that share its storage. No result changes. Before any other thread uses the weight; writing to it takes the preparation back.
void prepare_weight(const Tensor& weight, const WeightUse& use = {});

}  // namespace wick
