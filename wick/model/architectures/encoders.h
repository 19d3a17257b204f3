// Parts of descriptions that encoders share.
#pragma once

#include <cstdint>
#include <functional>

#include "wick/model/checkpoint/model_config.h"
#include "wick/model/description.h"

namespace wick {

// Attention in both directions and a feed-forward part, each followed by the norm of the sum (attn_output_norm, layer_output_norm), without
// an output norm; token types and a score head where the checkpoint has them. `rope`: of DecoderSpec::ropes, or -1.
[[nodiscard]] DecoderSpec describe_post_norm_encoder(const ModelConfig& config, const std::function<FeedForwardSpec(int64_t)>& feed_forward,
                                                     int rope);
// Marks the description of layers as an encoder's: token types, a projection of embeddings, a score head, and the tensors that take no
// part.
void make_encoder(DecoderSpec& spec, const ModelConfig& config);
// Makes the description of a decoder one of an encoder, whose tokens see later ones too. Errors: unsupported for layers that are computed
// from the first position to the last, or that see a part of the positions.
void attend_both_ways(DecoderSpec& spec, const KeyReader& keys);

}  // namespace wick
