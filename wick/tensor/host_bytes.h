// Bytes of a file as a tensor: looked at where the device can, copied elsewhere.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "wick/tensor/tensor.h"

namespace wick {

// Row-major elements that lie anywhere; `owner` keeps them alive, nullptr if nothing does. Kernels read elements at their own
// alignment only, so others are copied.
[[nodiscard]] inline Tensor tensor_of_host_bytes(std::span<const std::byte> bytes, const Shape& shape, DType dtype, const Device& device,
                                                 std::shared_ptr<const void> owner) {
  const bool is_aligned = reinterpret_cast<uintptr_t>(bytes.data()) % static_cast<uintptr_t>(info(dtype).block_bytes) == 0;
  if (owner == nullptr || !is_aligned || bytes.empty()) return Tensor::from_bytes(bytes, shape, dtype, device);
  return Tensor::import_host(bytes, shape, dtype, device, std::move(owner));
}

}  // namespace wick
