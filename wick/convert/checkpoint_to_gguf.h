// Writes a Checkpoint as a GGUF file, with the keys, names and orders of rows that llama.cpp's converter gives its architecture.
#pragma once

#include <filesystem>

#include "wick/model/checkpoint/checkpoint.h"

namespace wick {

// Matrices keep their dtype, but that f64 becomes f32 and f8e4m3 f16; vectors become f32. The rows of queries and keys are put in the order
// of the architecture's GGUF files. The folder's tokenizer.json goes in whole. Errors: those of GgufWriter and check_weight_dtype;
// unsupported for a checkpoint that is a GGUF file already.
void write_gguf(const Checkpoint& checkpoint, const std::filesystem::path& path);

}  // namespace wick
