// Parts of descriptions that encoder–decoders share.
#pragma once

#include <cstdint>
#include <functional>

#include "wick/model/checkpoint/model_config.h"
#include "wick/model/description.h"

namespace wick {

// Prefixes of the names of their tensors (DecoderSpec::prefix).
inline constexpr const char* kEncoderPrefix = "enc.";
inline constexpr const char* kDecoderPrefix = "dec.";

// The configuration of the decoder: number and sizes of its layers, where they are not those of the encoder.
[[nodiscard]] ModelConfig decoder_config(const ModelConfig& config);
// The same attention to the source as that to the target, `self`.
[[nodiscard]] CrossAttentionSpec attention_to_source(const AttentionSpec& self);
// Makes the description one of a decoder that writes from what `encoder` makes of a source: prefixes of names, and the tokens that a target
// begins with. Errors: not_found where the checkpoint has none; corrupt_file for one outside of the vocabulary.
void write_from_source(DecoderSpec& decoder, DecoderSpec encoder, const ModelConfig& config);

}  // namespace wick
