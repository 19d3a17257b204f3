#include "wick/engine/host_rows.h"

#include "wick/base/fail.h"
#include "wick/device/buffer.h"
#include "wick/device/queue.h"
#include "wick/device/runtime.h"

namespace wick {

std::span<const float> host_rows(const Tensor& tensor, std::vector<float>& memory) {
  WICK_ASSERT(tensor.dtype() == DType::f32 && tensor.is_contiguous());
  const auto count = static_cast<size_t>(tensor.elements());
  Buffer& buffer = tensor.storage()->buffer();
  const auto offset = static_cast<size_t>(tensor.layout().offset());
  if (const std::byte* data = buffer.host_data(); data != nullptr) {
    tensor.device().synchronize();
    return {reinterpret_cast<const float*>(data) + offset, count};
  }
  memory.resize(count);
  if (count > 0)
    tensor.device().runtime().queue().download(buffer, offset * sizeof(float), reinterpret_cast<std::byte*>(memory.data()),
                                               count * sizeof(float));
  return memory;
}

}  // namespace wick
