// Tensors in files: safetensors, NumPy's npy and npz, PyTorch's .pt and .pth. (GGUF files are read by model/.)
//
// Loaded tensors view the mapped file if the device works in host memory and the file aligns the elements, and are copied
// elsewhere. Such a tensor may be written to in place like any other: its page of memory is copied then, and the file stays as it is.
// The file may be replaced, but not shortened, while a tensor looks at it; what is saved here replaces files.
// Every function names file and tensor in its errors: not_found, io, corrupt_file, unsupported.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {

using NamedTensors = std::map<std::string, Tensor, std::less<>>;

// A safetensors file, the index of a sharded model (*.index.json), or a folder with either. Errors also: unsupported, by name, for
// dtypes that Wick has not (U16, U64, F8_E5M2, F8_E8M0, F6, F4, C64). BOOL reads as u8.
[[nodiscard]] NamedTensors load_safetensors(const std::filesystem::path& path, const Device& device = default_device());
// Several files as one. Errors also: corrupt_file for a tensor that is in two of them.
[[nodiscard]] NamedTensors load_safetensors(std::span<const std::filesystem::path> paths, const Device& device = default_device());
// From bytes in memory, which are copied; `name` is used as the path in errors.
[[nodiscard]] NamedTensors load_safetensors(std::span<const std::byte> bytes, const std::string& name,
                                            const Device& device = default_device());
// Errors also: unsupported for quantized tensors. The same tensors give the same bytes.
void save_safetensors(const NamedTensors& tensors, const std::filesystem::path& path,
                      const std::map<std::string, std::string>& metadata = {});
// In shards of at most max_shard_bytes of data, with an index; in one file if all fit. Returns the path to load.
std::filesystem::path save_safetensors_sharded(const NamedTensors& tensors, const std::filesystem::path& folder, uint64_t max_shard_bytes,
                                               const std::map<std::string, std::string>& metadata = {});

// NumPy. Fortran order and big-endian elements are converted; booleans read as u8. Errors also: unsupported, by name, for elements that
// Wick has not, and for writing bf16 and f8e4m3, which NumPy has not.
[[nodiscard]] Tensor read_npy(const std::filesystem::path& path, const Device& device = default_device());
void write_npy(const Tensor& tensor, const std::filesystem::path& path);
[[nodiscard]] NamedTensors read_npz(const std::filesystem::path& path, const Device& device = default_device());
// One array of it.
[[nodiscard]] Tensor read_npz(const std::filesystem::path& path, std::string_view array, const Device& device = default_device());
enum class NpzCompression { none, deflate };  // numpy.savez, numpy.savez_compressed
void write_npz(const NamedTensors& tensors, const std::filesystem::path& path, NpzCompression compression = NpzCompression::none);

// PyTorch (formats/pytorch.h says what is read, and that nothing of it is run). Tensors are called by their way through the file's
// dictionaries and lists, "state_dict.conv.weight"; with a key only those below it, without it. Strides stay as they are, and tensors
// that share a storage share it here. Errors also: unsupported for any tensor of a dtype that Wick has not, or that is sparse.
[[nodiscard]] NamedTensors load_pytorch(const std::filesystem::path& path, const Device& device = default_device(),
                                        std::string_view key = {});

}  // namespace wick
