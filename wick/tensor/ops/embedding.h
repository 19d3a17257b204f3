// embedding: rows of a table by number, dequantized.
#pragma once

#include "wick/tensor/tensor.h"

namespace wick {

// table [rows, width], any dtype, also quantized; ids u32, i32 or i64 of any shape. Result: f32 [ids' shape..., width].
// Errors: index_out_of_range, naming the id and the number of rows.
[[nodiscard]] Tensor embedding(const Tensor& table, const Tensor& ids);

}  // namespace wick
