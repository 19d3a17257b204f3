#include "wick/formats/npz.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/files.h"

namespace wick {
namespace {

Tensor read_array(const NpzFile& file, std::string_view name, const Device& device) {
  const NpyArray array = file.read(name);
  return Tensor::from_bytes(array.data, array.shape, array.dtype, device);
}

}  // namespace

NamedTensors read_npz(const std::filesystem::path& path, const Device& device) {
  const NpzFile file = NpzFile::open(path);
  NamedTensors loaded;
  for (const std::string& name : file.names()) loaded.emplace(name, read_array(file, name, device));
  return loaded;
}

Tensor read_npz(const std::filesystem::path& path, std::string_view array, const Device& device) {
  return read_array(NpzFile::open(path), array, device);
}

void write_npz(const NamedTensors& tensors, const std::filesystem::path& path, NpzCompression compression) {
  check_assigned("write_npz", tensors);
  NpzWriter writer(path, compression == NpzCompression::none ? ZipMethod::stored : ZipMethod::deflated);
  for (const auto& [name, tensor] : tensors) writer.add(name, tensor.dtype(), tensor.shape(), tensor.to_bytes());
  writer.finish();
}

}  // namespace wick
