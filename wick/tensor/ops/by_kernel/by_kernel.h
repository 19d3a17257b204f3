// The ops as portable kernels carry them out: OpRule::by_kernel of each. One file a family; none knows what device it is for.
#pragma once

#include "wick/device/op_call.h"

namespace wick::by_kernel {

void add_rms_norm(const OpCall& call);
void attention(const OpCall& call);
void avg_pool2d(const OpCall& call);
void binary(const OpCall& call);
void compare(const OpCall& call);
void conv2d(const OpCall& call);
void conv_transpose2d(const OpCall& call);
void copy(const OpCall& call);
void cumsum(const OpCall& call);
void embedding(const OpCall& call);
void fill(const OpCall& call);
void gated_linear(const OpCall& call);
void gather(const OpCall& call);
void index_add(const OpCall& call);
void index_select(const OpCall& call);
void layer_norm(const OpCall& call);
void linear(const OpCall& call);
void matmul(const OpCall& call);
void max_pool2d(const OpCall& call);
void random(const OpCall& call);
void reduce(const OpCall& call);
void rms_norm(const OpCall& call);
void rope(const OpCall& call);
void rope_into_cache(const OpCall& call);
void scatter(const OpCall& call);
void softmax(const OpCall& call);
void sort(const OpCall& call);
void unary(const OpCall& call);
void upsample2d(const OpCall& call);
void where_cond(const OpCall& call);

}  // namespace wick::by_kernel
