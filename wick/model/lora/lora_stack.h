// A LoraStack is what the adapters of a model add to the products of one of its matrices: y = x · Wᵀ + scale · (x · Aᵀ) · Bᵀ (Hu et al.
// 2021), with the A and B of all adapters as experts of one call, so that the rows of a batch may go through different ones.
#pragma once

#include "wick/tensor/tensor.h"

namespace wick {

// Expert i is adapter i, filled up with zeros to the largest rank. Expert 0 is zeros: that of rows without an adapter.
struct LoraStack {
  Tensor a;  // f32 [adapters + 1, rank, columns]
  Tensor b;  // f32 [adapters + 1, rows, rank], with alpha / rank multiplied in
};

// Which adapters the rows of a batch go through; rows with fewer than others name expert 0.
struct AdapterRows {
  Tensor ids;     // i32 [rows, used]
  Tensor scales;  // f32 [rows, used, 1]
};

// The addition to the products of x [rows, columns]: f32 [rows, rows of the matrix].
[[nodiscard]] Tensor adapter_product(const Tensor& x, const LoraStack& stack, const AdapterRows& adapters, LinearParams params);

}  // namespace wick
