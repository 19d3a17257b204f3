// Files as sources of tensors for a net's layers, and a net's variables as a file.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "wick/nn/tensor_source.h"
#include "wick/nn/var_map.h"

namespace [[gnu::visibility("default")]] wick {

// By the file's name: .safetensors, an index of shards (.json) or a folder with either; .npz; .pt, .pth and .bin of PyTorch; .gguf, whose
// quantized tensors become floats where a dtype is given. Where the device works in host memory, tensors are views of the mapped file.
// Errors: unsupported for another name; those of tensor/files.h and GgufFile.
[[nodiscard]] std::shared_ptr<const nn::TensorSource> open_tensor_source(const std::filesystem::path& path,
                                                                         const Device& device = default_device());

// Every variable and buffer, as a safetensors file.
void save_variables(const nn::VarMap& vars, const std::filesystem::path& path, const std::map<std::string, std::string>& metadata = {});

}  // namespace wick
