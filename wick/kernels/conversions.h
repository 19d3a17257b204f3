// Numbers of one dtype as numbers of another, as copies convert them.
#pragma once

#include "wick/ir/builder.h"
#include "wick/layout/dtype.h"

namespace wick::kernels {

// Takes what load_number gives and gives what store_number takes. Floats to integers: towards zero, saturating, NaN to 0. Integers to
// integers: the low bits. To a float that cannot hold the number: to nearest even, once.
[[nodiscard]] ir::Value convert(const ir::Value& number, DType from, DType to);

// A number that memory holds unchanged, as a dtype of as many bytes that is only moved.
[[nodiscard]] DType moved_as(DType dtype);

}  // namespace wick::kernels
