// The memory of tensors on the CPU, for loops over it.
#pragma once

#include <cstddef>

#include "wick/tensor/tensor.h"

namespace wick {

// The first element of a tensor whose elements lie on the CPU without a gap; nullptr for others.
[[nodiscard]] inline std::byte* host_elements(const Tensor& x) {
  if (!x.device().is_cpu() || !x.is_contiguous()) return nullptr;
  return x.storage()->buffer().host_data() + x.layout().offset() * info(x.dtype()).block_bytes;
}

}  // namespace wick
