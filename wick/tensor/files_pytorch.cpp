#include <map>
#include <utility>

#include "wick/formats/pytorch.h"
#include "wick/tensor/files.h"
#include "wick/tensor/host_bytes.h"

namespace wick {

NamedTensors load_pytorch(const std::filesystem::path& path, const Device& device, std::string_view key) {
  const PytorchFile file = PytorchFile::open(path, key, MapAccess::copy_on_write);
  file.require_all();
  // Each storage once, as a tensor of all its elements; a tensor of the file is a view of it.
  std::map<std::pair<size_t, DType>, Tensor> storages;
  NamedTensors loaded;
  for (const PytorchTensor& tensor : file.tensors()) {
    auto found = storages.find({tensor.storage, tensor.dtype});
    if (found == storages.end()) {
      const PytorchStorage& storage = file.storages()[tensor.storage];
      const auto element_bytes = static_cast<size_t>(info(tensor.dtype).block_bytes);
      const size_t elements = storage.data.size() / element_bytes;
      const Shape shape{static_cast<int64_t>(elements)};
      found = storages
                  .emplace(std::pair(tensor.storage, tensor.dtype),
                           tensor_of_host_bytes(storage.data.first(elements * element_bytes), shape, tensor.dtype, device, storage.owner))
                  .first;
    }
    loaded.emplace(tensor.name, Tensor(found->second.storage(), tensor.layout));
  }
  return loaded;
}

}  // namespace wick
