// sentence-transformers' files in a Hugging Face folder: "modules.json" and the modules that it lists.
#pragma once

#include <filesystem>

#include "wick/model/checkpoint/checkpoint.h"

namespace wick {

[[nodiscard]] bool is_sentence_transformer(const std::filesystem::path& folder);

// Adds how tokens' vectors become a text's (pooling.h), dense layers after that and prompts (text_prompts.h) to the folder; nothing where
// it has no modules.json. Errors: corrupt_file
// for files that are damaged, not_found for one that modules.json names; unsupported for modules and modes that Wick has not.
void add_sentence_transformers(Checkpoint::Folder& folder);

}  // namespace wick
