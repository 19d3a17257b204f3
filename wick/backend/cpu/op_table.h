// The CPU's implementations of ops: one constant table, [op][dtype of the defining operand], and which kinds of an op have a loop.
#pragma once

#include "wick/device/op_call.h"

namespace wick::cpu {

struct SimdKernels;

// nullptr: the CPU has no implementation of its own, and the reference loops serve.
[[nodiscard]] OpFunction op_function(OpId op, DType dtype) noexcept;
// Whether op_function's implementation knows that kind of the op on these numbers; else the reference loops serve. (elementwise.cpp)
[[nodiscard]] bool has_loop(const SimdKernels& kernels, OpId op, int kind, DType dtype) noexcept;

// The implementations, by file.
// copy.cpp
void copy_plain(const OpCall& call);
void copy_quantized(const OpCall& call);
void fill_any(const OpCall& call);
// elementwise.cpp
void unary_any(const OpCall& call);
void binary_any(const OpCall& call);
void compare_any(const OpCall& call);
void where_any(const OpCall& call);
// reduce.cpp
void reduce_any(const OpCall& call);
// rows.cpp
void softmax_any(const OpCall& call);
void rms_norm_any(const OpCall& call);
void add_rms_norm_any(const OpCall& call);
void layer_norm_any(const OpCall& call);
void rope_any(const OpCall& call);
// rope_into_cache.cpp
void rope_into_cache_any(const OpCall& call);
// embedding.cpp
void embedding_any(const OpCall& call);
// recurrent_step.cpp
void recurrent_step_f32(const OpCall& call);
// causal_conv.cpp
void causal_conv_f32(const OpCall& call);
// cumsum.cpp
void cumsum_any(const OpCall& call);
// random.cpp
void random_any(const OpCall& call);
// sort.cpp
void sort_any(const OpCall& call);
// indexing.cpp
void gather_any(const OpCall& call);
void index_select_any(const OpCall& call);
void scatter_any(const OpCall& call);
void index_add_any(const OpCall& call);
// matmul.cpp
void matmul_f32(const OpCall& call);
void matmul_f64(const OpCall& call);
void matmul_narrow(const OpCall& call);
// conv.cpp: conv2d and conv_transpose2d; float is every float dtype but f64
void conv_float(const OpCall& call);
void conv_f64(const OpCall& call);
// images.cpp
void avg_pool_float(const OpCall& call);
void max_pool_any(const OpCall& call);
void upsample_any(const OpCall& call);
// linear.cpp
void linear_any(const OpCall& call);
void gated_linear_any(const OpCall& call);
// linear_tiles.cpp: where can_multiply_tiles()
void linear_tiles(const OpCall& call);
// linear_experts.cpp: linear_experts and gated_linear_experts
void linear_experts_any(const OpCall& call);
// attention.cpp
void attention_any(const OpCall& call);

}  // namespace wick::cpu
