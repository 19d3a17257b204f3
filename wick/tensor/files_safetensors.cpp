#include <vector>

#include "wick/formats/safetensors.h"
#include "wick/formats/safetensors_writer.h"
#include "wick/formats/sharded_safetensors.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/files.h"
#include "wick/tensor/host_bytes.h"

namespace wick {
namespace {

// All that `file` holds: none may have been refused.
template <class File>
NamedTensors import_all(const File& file, const Device& device) {
  file.require_all();
  NamedTensors loaded;
  for (const SafetensorsTensor& tensor : file.tensors()) {
    loaded.emplace(tensor.name, tensor_of_host_bytes(tensor.data, tensor.shape, tensor.dtype, device, tensor.file));
  }
  return loaded;
}

// Tensors come to the host one by one, as they are written.
SafetensorsWriter writer_of(std::string_view function, const NamedTensors& tensors, const std::map<std::string, std::string>& metadata) {
  check_assigned(function, tensors);
  SafetensorsWriter writer;
  for (const auto& [key, value] : metadata) writer.add_metadata(key, value);
  for (const auto& [name, tensor] : tensors) {
    writer.add_tensor(name, tensor.dtype(), tensor.shape(), [&tensor](const SafetensorsWriter::Sink& sink) { sink(tensor.to_bytes()); });
  }
  return writer;
}

}  // namespace

NamedTensors load_safetensors(const std::filesystem::path& path, const Device& device) {
  return import_all(ShardedSafetensors::open(path, MapAccess::copy_on_write), device);
}

NamedTensors load_safetensors(std::span<const std::filesystem::path> paths, const Device& device) {
  return import_all(ShardedSafetensors::open_files(paths, MapAccess::copy_on_write), device);
}

NamedTensors load_safetensors(std::span<const std::byte> bytes, const std::string& name, const Device& device) {
  return import_all(SafetensorsFile::parse(bytes, name), device);
}

void save_safetensors(const NamedTensors& tensors, const std::filesystem::path& path, const std::map<std::string, std::string>& metadata) {
  writer_of("save_safetensors", tensors, metadata).write(path);
}

std::filesystem::path save_safetensors_sharded(const NamedTensors& tensors, const std::filesystem::path& folder, uint64_t max_shard_bytes,
                                               const std::map<std::string, std::string>& metadata) {
  return writer_of("save_safetensors_sharded", tensors, metadata).write_sharded(folder, max_shard_bytes);
}

}  // namespace wick
