// Order keys: unsigned numbers that rise as the numbers of a dtype do, for sorting and for finding extremes. They make no use of
// comparisons of floats, which fast paths of languages may bend, nor of 64-bit types.
#pragma once

#include "wick/ir/builder.h"
#include "wick/layout/dtype.h"

namespace wick::kernels {

// One word, or two of which the first counts more.
struct OrderKey {
  ir::Value high;
  ir::Value low;  // no value where there is one word
};

[[nodiscard]] constexpr uint32_t key_words(DType dtype) { return dtype == DType::i64 || dtype == DType::f64 ? 2 : 1; }
// The element type for a kernel that reads keys and moves elements: 64-bit ones are pairs of words.
[[nodiscard]] ir::Element key_element(DType dtype);
// The key of an element of a buffer of key_element. NaN has the largest key there is, and -0 that of 0.
[[nodiscard]] OrderKey load_key(const ir::Memory& memory, DType dtype, const ir::Value& index);
// All bits XORed with `mask`: reverses the order if it is all ones, keeps it if it is 0.
[[nodiscard]] OrderKey turned(const OrderKey& key, const ir::Value& mask);
[[nodiscard]] ir::Value is_less(const OrderKey& a, const OrderKey& b);
[[nodiscard]] ir::Value is_equal(const OrderKey& a, const OrderKey& b);
[[nodiscard]] OrderKey select(const ir::Value& condition, const OrderKey& yes, const OrderKey& no);
// to[to_index] = from[from_index], both of key_element.
void move_element(const ir::Memory& to, const ir::Value& to_index, const ir::Memory& from, const ir::Value& from_index, DType dtype);

}  // namespace wick::kernels
