// Falcon: attention and a feed-forward part without a gate in parallel, behind one layer norm or one each, or one after the other
// (Almazrouei et al. 2023).
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_falcon(const ModelConfig& config) {
  const bool two = config.keys.checkpoint().find_tensor("blk.0.attn_norm_2.weight") != nullptr;
  const bool sequential = config.keys.checkpoint().find_tensor("blk.0.ffn_norm.weight") != nullptr;
  return config.decoder(
      [&](int64_t layer) {
        if (sequential) return config.layer(config.attention(layer), config.ungated_feed_forward(layer), NormKind::layer);
        LayerSpec made = config.parallel_layer(config.attention(layer), config.ungated_feed_forward(layer), NormKind::layer);
        if (!two) return made;
        // The second one is attention's, whatever its name.
        made.blocks[0].norm.reset();
        made.blocks[0].parts[0].norm = config.norm("attn_norm_2", NormKind::layer);
        made.blocks[0].parts[1].norm = config.norm("attn_norm", NormKind::layer);
        return made;
      },
      NormKind::layer);
}

constexpr std::string_view kFalconClasses[] = {"FalconForCausalLM"};
constexpr ConfigRow kFalconConfig[] = {
    {"layer_norm_epsilon", ConfigRow::Use::read, "attention.layer_norm_epsilon"},
    {"ffn_hidden_size", ConfigRow::Use::read, "feed_forward_length"},
    {"intermediate_size", ConfigRow::Use::harmless},
    {"activation", ConfigRow::Use::read, "hidden_act"},
    {"n_layer", ConfigRow::Use::read, "block_count"},
    {"n_head", ConfigRow::Use::read, "attention.head_count"},
    {"num_kv_heads", ConfigRow::Use::harmless},  // the tensors tell
    {"num_key_value_heads", ConfigRow::Use::harmless},
    {"n_head_kv", ConfigRow::Use::harmless},
    {"multi_query", ConfigRow::Use::harmless},
    {"new_decoder_architecture", ConfigRow::Use::harmless},
    {"num_ln_in_parallel_attn", ConfigRow::Use::harmless},
    {"alibi", ConfigRow::Use::only_value, {}, 0},
    {"bias", ConfigRow::Use::harmless},
    {"parallel_attn", ConfigRow::Use::harmless},
};
constexpr TensorRow kFalconTensors[] = {
    {"transformer.word_embeddings.weight", "token_embd.weight"},
    {"transformer.ln_f.weight", "output_norm.weight"},
    {"transformer.ln_f.bias", "output_norm.bias"},
    {"transformer.h.{}.input_layernorm.weight", "blk.{}.attn_norm.weight"},
    {"transformer.h.{}.input_layernorm.bias", "blk.{}.attn_norm.bias"},
    {"transformer.h.{}.ln_mlp.weight", "blk.{}.attn_norm.weight"},
    {"transformer.h.{}.ln_mlp.bias", "blk.{}.attn_norm.bias"},
    {"transformer.h.{}.ln_attn.weight", "blk.{}.attn_norm_2.weight"},
    {"transformer.h.{}.ln_attn.bias", "blk.{}.attn_norm_2.bias"},
    {"transformer.h.{}.self_attention.query_key_value.weight", "blk.{}.attn_qkv.weight"},
    {"transformer.h.{}.self_attention.dense.weight", "blk.{}.attn_output.weight"},
    {"transformer.h.{}.mlp.dense_h_to_4h.weight", "blk.{}.ffn_up.weight"},
    {"transformer.h.{}.mlp.dense_4h_to_h.weight", "blk.{}.ffn_down.weight"},
    {"transformer.h.{}.self_attention.query_key_value.bias", "blk.{}.attn_qkv.bias"},
    {"transformer.h.{}.self_attention.dense.bias", "blk.{}.attn_output.bias"},
    {"transformer.h.{}.mlp.dense_h_to_4h.bias", "blk.{}.ffn_up.bias"},
    {"transformer.h.{}.mlp.dense_4h_to_h.bias", "blk.{}.ffn_down.bias"},
    {"transformer.h.{}.post_attention_layernorm.weight", "blk.{}.ffn_norm.weight"},
    {"transformer.h.{}.post_attention_layernorm.bias", "blk.{}.ffn_norm.bias"},
};

}  // namespace

const Architecture kFalcon = {.name = "falcon",
                              .models = "Falcon 7B, 11B, 40B, 180B",
                              .describe = describe_falcon,
                              .activation = nn::ActivationKind::gelu,
                              .hugging_face = {.classes = kFalconClasses,
                                               .config = kFalconConfig,
                                               .tensors = kFalconTensors,
                                               .tied_by_default = true,
                                               .qkv_by_group = true,
                                               .inner_multiple = 4}};

}  // namespace wick
