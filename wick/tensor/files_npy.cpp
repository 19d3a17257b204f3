#include "wick/formats/npy.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/files.h"

namespace wick {

Tensor read_npy(const std::filesystem::path& path, const Device& device) {
  const NpyArray array = read_npy_array(path);
  return Tensor::from_bytes(array.data, array.shape, array.dtype, device);
}

void write_npy(const Tensor& tensor, const std::filesystem::path& path) {
  check_assigned("write_npy", {{"tensor", tensor}});
  write_npy(path, tensor.dtype(), tensor.shape(), tensor.to_bytes());
}

}  // namespace wick
