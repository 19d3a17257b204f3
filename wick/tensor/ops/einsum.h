// einsum: sums of products, written as in Einstein's notation.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {

// einsum("bij,bjk->bik", {x, y}): each operand has a term, each dimension of it a letter (a-z, A-Z). The result has the dimensions behind
// the arrow; products of elements that agree in their letters are summed up over the letters that are not there.
//   A letter twice in a term takes the diagonal ("ii->i"); "..." stands for dimensions that broadcast, aligned at the last one, and is
//   summed if it is missing in the output; extents of 1 stretch; without an arrow the result has "..." and then the letters that
//   occur once, in the order of the alphabet (capitals first). Spaces mean nothing.
// Operands are contracted in pairs, those first that give the smallest intermediate result, as batched matrix products (floats) or as
// products and sums (integers, which wrap around). The result may be a view of an operand, where nothing is to be computed.
// Errors: invalid_argument for an equation that is none; shape_mismatch and dtype_mismatch. They name the term and the letter.
[[nodiscard]] Tensor einsum(std::string_view equation, std::span<const Tensor> operands);
[[nodiscard]] inline Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands) {
  return einsum(equation, std::span(operands.begin(), operands.size()));
}

}  // namespace wick
