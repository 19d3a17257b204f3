// copy: elements move between layouts and dtypes of one device.
#pragma once

#include "wick/tensor/tensor.h"

namespace wick {

// target = source, element by element, converted to target's dtype; any strides on both sides, source may be broadcast. The two must not
// overlap in memory. Float to integer truncates toward zero and saturates, NaN becomes 0; integer to integer keeps the low bits, as two's
// complement has them; to a float that cannot hold the number rounds to nearest even, once. A quantized source is dequantized;
// of quantized targets there is q8_0 from f32, for caches: blocks with the bytes of the reference quantizer, but NaNs where a number is
// not finite. The tape does not see it. Errors: shape_mismatch; unsupported for other quantized targets, and for a tracked source or
// target.
void copy(const Tensor& source, const Tensor& target);

// Throws unsupported for an operand of an in-place function that is tracked.
void refuse_tracked(std::string_view name, std::initializer_list<const Tensor*> tensors);
// Throws invalid_argument for a target of which two elements may share memory: what each would be then is not said.
void refuse_repeated(std::string_view name, const Tensor& target);

}  // namespace wick
