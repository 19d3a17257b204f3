// A PEFT folder as one GGUF file, with the keys and names that llama.cpp reads.
#pragma once

#include <filesystem>

#include "wick/model/checkpoint/checkpoint.h"

namespace wick {

// Whether a folder holds an adapter of PEFT.
[[nodiscard]] bool is_peft_folder(const std::filesystem::path& folder);

// Writes the adapter of a folder for `base`, a GGUF file or a Hugging Face folder of the model. Matrices keep their type, but those whose
// rows lie otherwise in GGUF files, or whose scale is another than the one that the file can say, become F32.
// Errors: LoraAdapter::open's; unsupported for an architecture that Wick has not; io.
void write_adapter_gguf(const std::filesystem::path& folder, const Checkpoint& base, const std::filesystem::path& path);

}  // namespace wick
