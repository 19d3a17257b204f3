// Where a tensor begins in its buffer, for the backends' own headers: they do not know the room of tensors.
#pragma once

#include <cstddef>

#include "wick/layout/dtype.h"

namespace [[gnu::visibility("default")]] wick {

// The place of a tensor's first element in its buffer, in bytes.
template <class Tensor>
[[nodiscard]] size_t first_byte(const Tensor& tensor) {
  return static_cast<size_t>(tensor.layout().offset() * info(tensor.dtype()).block_bytes);
}

}  // namespace wick
