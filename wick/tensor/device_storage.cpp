#include "wick/tensor/device_storage.h"

#include "wick/base/platform/build_mode.h"

namespace wick::device_storage {

SharedStorage alloc_uninit(const Device& device, const Shape& shape, DType dtype) {
  const Tensor tensor = Tensor::empty(shape, dtype, device);
  if (platform::kSpoilsFreshMemory && tensor.elements() > 0) {
    const std::vector<std::byte> ones(static_cast<size_t>(storage_bytes_of(shape, dtype)), std::byte{0xff});
    device.runtime().queue().upload(ones.data(), tensor.storage()->buffer(), 0, ones.size());
  }
  return tensor.storage();
}

}  // namespace wick::device_storage
