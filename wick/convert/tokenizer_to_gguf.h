// The tokenizer of a folder, its special tokens and chat templates, in a GGUF file's metadata.
#pragma once

#include <cstdint>

#include "wick/formats/gguf_writer.h"
#include "wick/model/checkpoint/checkpoint.h"

namespace wick {

// In GGUF's own keys, and as the folder has it ("tokenizer.huggingface.json") where these cannot hold it, or encode some text otherwise: a
// warning says so. `rows`: of the embedding, up to which unused tokens fill the vocabulary. A folder without one has none there either.
// Errors: those of load_tokenizer.
void add_tokenizer(GgufWriter& writer, const Checkpoint& checkpoint, int64_t rows);

}  // namespace wick
