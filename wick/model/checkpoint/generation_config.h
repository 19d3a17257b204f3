// Sampling parameters in a folder's generation_config.json, by GGUF's keys.
#pragma once

#include "wick/model/checkpoint/checkpoint.h"

namespace wick {

// Adds "general.sampling.temp", "top_k", "top_p", "min_p", "penalty_repeat" and "penalty_last_n" to the metadata. A penalty of repetitions
// looks at the whole text there, and "do_sample": false is a temperature of 0. Nothing without the file. The tokens that end a text are the
// tokenizer's (text/tokenizer/special_tokens.h). Errors: corrupt_file for what is no JSON object, and for values of another kind.
void add_generation_config(Checkpoint::Folder& folder);

}  // namespace wick
