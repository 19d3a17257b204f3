// Layers of Gemma 3n and 4: windows, local rotations, and last layers that attend to the keys and values of others.
#pragma once

#include <cstdint>

#include "wick/model/architectures/architecture.h"
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

inline constexpr KeyRule kGemmaLayerKeys[] = {
    {"embedding_length_per_layer_input"}, {"final_logit_softcapping"}, {"rope.freq_base_swa"}, {"attention.shared_kv_layers"}};
inline constexpr ConfigRow kGemmaLayerConfig[] = {
    {"hidden_act", ConfigRow::Use::harmless},
    {"hidden_activation", ConfigRow::Use::read, "hidden_act"},
    {"final_logit_softcapping", ConfigRow::Use::zero_if_null, "final_logit_softcapping"},
    {"hidden_size_per_layer_input", ConfigRow::Use::read, "embedding_length_per_layer_input"},
    {"vocab_size_per_layer_input", ConfigRow::Use::harmless},  // the tensors tell
    {"num_kv_shared_layers", ConfigRow::Use::read, "attention.shared_kv_layers"},
};
inline constexpr TensorRow kGemmaLayerTensors[] = {
    {"model.embed_tokens_per_layer.weight", "per_layer_token_embd.weight"},
    {"model.per_layer_model_projection.weight", "per_layer_model_proj.weight"},
    {"model.per_layer_projection_norm.weight", "per_layer_proj_norm.weight"},
    {"model.layers.{}.post_attention_layernorm.weight", "blk.{}.post_attention_norm.weight"},
    {"model.layers.{}.pre_feedforward_layernorm.weight", "blk.{}.ffn_norm.weight"},
    {"model.layers.{}.post_feedforward_layernorm.weight", "blk.{}.post_ffw_norm.weight"},
    {"model.layers.{}.per_layer_input_gate.weight", "blk.{}.inp_gate.weight"},
    {"model.layers.{}.per_layer_projection.weight", "blk.{}.proj.weight"},
    {"model.layers.{}.post_per_layer_input_norm.weight", "blk.{}.post_norm.weight"},
};

}  // namespace wick
