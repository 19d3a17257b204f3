// Layers of Gemma 3n and 4: windows, local rotations, and last layers that attend to the keys and values of others.
#pragma once

#include <cstdint>

#include "wick/model/checkpoint/model_config.h"
#include "wick/model/description.h"

namespace wick {

// The configuration with a window in all but each layer after `local` of them, where the file does not say which have one.
[[nodiscard]] ModelConfig with_local_layers(const ModelConfig& config, int64_t local);
// How many of the last layers have no keys and values of their own. Errors: corrupt_file where no layer of one kind has some.
[[nodiscard]] int64_t shared_layers(const ModelConfig& config, int64_t usual);
// Attention of a layer; those from `owners` on attend to the keys and values of the last one of their kind before it.
[[nodiscard]] AttentionSpec gemma_attention(const ModelConfig& config, int64_t layer, int64_t owners);
// The rotations of layers with a window, as number 1.
void add_local_rope(DecoderSpec& spec, const ModelConfig& config);
// Files have matrices of keys and values for layers that do not use them.
void leave_out_shared(DecoderSpec& spec, int64_t owners);

}  // namespace wick
