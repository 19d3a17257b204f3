// Decoders whose positions are biases of their scores (Press et al. 2022): BLOOM, with a norm behind its embedding (Le Scao et al. 2022),
// and MPT (MosaicML 2023).
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

// What files mean that do not say otherwise.
constexpr double kDefaultBias = 8;

DecoderSpec describe_with_alibi(const ModelConfig& config, double most) {
  const auto clamp = static_cast<float>(config.keys.find_positive_or_zero("attention.clamp_kqv").value_or(0));
  return config.decoder(
      [&](int64_t layer) {
        AttentionSpec attention = config.attention(layer);
        attention.rope = -1;
        attention.alibi = static_cast<float>(most);
        attention.clamp = clamp;
        return config.layer(std::move(attention), config.ungated_feed_forward(layer), NormKind::layer);
      },
      NormKind::layer);
}

DecoderSpec describe_bloom(const ModelConfig& config) {
  DecoderSpec spec = describe_with_alibi(config, kDefaultBias);
  spec.embedding_norm = config.norm("token_embd_norm", NormKind::layer);
  return spec;
}

DecoderSpec describe_mpt(const ModelConfig& config) {
  DecoderSpec spec = describe_with_alibi(config, config.keys.positive_or("attention.max_alibi_bias", kDefaultBias));
  const Checkpoint& file = config.keys.checkpoint();
  spec.learned_positions = file.find_tensor("position_embd.weight") != nullptr;
  // A norm of keys counts where there is one of queries, as in llama.cpp; a model with both is refused.
  if (file.find_tensor("blk.0.attn_q_norm.weight") == nullptr) spec.unused = {".attn_k_norm."};
  return spec;
}

constexpr KeyRule kBloomKeys[] = {{"attention.max_alibi_bias", KeyUse::only_value, {0, kDefaultBias}}};
constexpr KeyRule kMptKeys[] = {{"attention.max_alibi_bias"}, {"attention.clamp_kqv"}};
constexpr std::string_view kBloomClasses[] = {"BloomForCausalLM"};
constexpr std::string_view kMptClasses[] = {"MptForCausalLM", "MPTForCausalLM"};
constexpr ConfigRow kBloomConfig[] = {
    {"n_embed", ConfigRow::Use::read, "embedding_length"},
    {"n_layer", ConfigRow::Use::read, "block_count"},
    {"n_head", ConfigRow::Use::read, "attention.head_count"},
    {"num_attention_heads", ConfigRow::Use::read, "attention.head_count"},
    {"seq_length", ConfigRow::Use::read, "context_length"},
    {"BloomForCausalLM", ConfigRow::Use::of_class, "context_length", 2048},  // transformers leaves it out
    {"layer_norm_epsilon", ConfigRow::Use::read, "attention.layer_norm_epsilon"},
    {"apply_residual_connection_post_layernorm", ConfigRow::Use::only_value, {}, 0},
    {"attention_softmax_in_fp32", ConfigRow::Use::harmless},
    {"masked_softmax_fusion", ConfigRow::Use::harmless},
    {"bias_dropout_fusion", ConfigRow::Use::harmless},
    {"skip_bias_add", ConfigRow::Use::harmless},
    {"skip_bias_add_qkv", ConfigRow::Use::harmless},
    {"slow_but_exact", ConfigRow::Use::harmless},
    {"offset_alibi", ConfigRow::Use::harmless},
    {"unk_token_id", ConfigRow::Use::harmless},
};
constexpr ConfigRow kMptConfig[] = {
    {"d_model", ConfigRow::Use::read, "embedding_length"},
    {"n_layers", ConfigRow::Use::read, "block_count"},
    {"n_heads", ConfigRow::Use::read, "attention.head_count"},
    {"max_seq_len", ConfigRow::Use::read, "context_length"},
    {"expansion_ratio", ConfigRow::Use::inner_multiple},
    {"layer_norm_epsilon", ConfigRow::Use::read, "attention.layer_norm_epsilon"},
    {"attn_config.alibi", ConfigRow::Use::only_value, {}, 1},
    {"attn_config.alibi_bias_max", ConfigRow::Use::read, "attention.max_alibi_bias"},
    {"attn_config.clip_qkv", ConfigRow::Use::read, "attention.clamp_kqv"},
    {"attn_config.softmax_scale", ConfigRow::Use::read, "attention.scale"},
    {"attn_config.qk_ln", ConfigRow::Use::only_value, {}, 0},
    {"attn_config.prefix_lm", ConfigRow::Use::only_value, {}, 0},
    {"attn_config.attn_impl", ConfigRow::Use::harmless},
    {"attn_config.attn_type", ConfigRow::Use::harmless},
    {"learned_pos_emb", ConfigRow::Use::harmless},  // alibi takes its place
    {"logit_scale", ConfigRow::Use::only_value, {}, 0},
    {"no_bias", ConfigRow::Use::harmless},    // the tensors tell
    {"norm_type", ConfigRow::Use::harmless},  // of layer norms, how they are rounded
    {"init_device", ConfigRow::Use::harmless},
    {"embedding_fraction", ConfigRow::Use::harmless},
};
constexpr TensorRow kBloomTensors[] = {
    {"transformer.word_embeddings.weight", "token_embd.weight"},
    {"transformer.word_embeddings_layernorm.weight", "token_embd_norm.weight"},
    {"transformer.word_embeddings_layernorm.bias", "token_embd_norm.bias"},
    {"transformer.ln_f.weight", "output_norm.weight"},
    {"transformer.ln_f.bias", "output_norm.bias"},
    {"transformer.h.{}.input_layernorm.weight", "blk.{}.attn_norm.weight"},
    {"transformer.h.{}.input_layernorm.bias", "blk.{}.attn_norm.bias"},
    {"transformer.h.{}.post_attention_layernorm.weight", "blk.{}.ffn_norm.weight"},
    {"transformer.h.{}.post_attention_layernorm.bias", "blk.{}.ffn_norm.bias"},
    {"transformer.h.{}.self_attention.query_key_value.weight", "blk.{}.attn_qkv.weight"},
    {"transformer.h.{}.self_attention.query_key_value.bias", "blk.{}.attn_qkv.bias"},
    {"transformer.h.{}.self_attention.dense.weight", "blk.{}.attn_output.weight"},
    {"transformer.h.{}.self_attention.dense.bias", "blk.{}.attn_output.bias"},
    {"transformer.h.{}.mlp.dense_h_to_4h.weight", "blk.{}.ffn_up.weight"},
    {"transformer.h.{}.mlp.dense_h_to_4h.bias", "blk.{}.ffn_up.bias"},
    {"transformer.h.{}.mlp.dense_4h_to_h.weight", "blk.{}.ffn_down.weight"},
    {"transformer.h.{}.mlp.dense_4h_to_h.bias", "blk.{}.ffn_down.bias"},
};
constexpr TensorRow kMptTensors[] = {
    {"transformer.wte.weight", "token_embd.weight"},
    {"transformer.norm_f.weight", "output_norm.weight"},
    {"transformer.blocks.{}.norm_1.weight", "blk.{}.attn_norm.weight"},
    {"transformer.blocks.{}.norm_2.weight", "blk.{}.ffn_norm.weight"},
    {"transformer.blocks.{}.attn.Wqkv.weight", "blk.{}.attn_qkv.weight"},
    {"transformer.blocks.{}.attn.out_proj.weight", "blk.{}.attn_output.weight"},
    {"transformer.blocks.{}.ffn.up_proj.weight", "blk.{}.ffn_up.weight"},
    {"transformer.blocks.{}.ffn.down_proj.weight", "blk.{}.ffn_down.weight"},
};

}  // namespace

const Architecture kBloom = {.name = "bloom",
                             .models = "BLOOM, BLOOMZ",
                             .describe = describe_bloom,
                             .activation = nn::ActivationKind::new_gelu,
                             .keys = kBloomKeys,
                             .hugging_face = {.classes = kBloomClasses,
                                              .config = kBloomConfig,
                                              .tensors = kBloomTensors,
                                              .tied_by_default = true,
                                              .qkv_by_head = true,
                                              .inner_multiple = 4}};
const Architecture kMpt = {
    .name = "mpt",
    .models = "MPT",
    .describe = describe_mpt,
    .activation = nn::ActivationKind::gelu,
    .keys = kMptKeys,
    .hugging_face = {.classes = kMptClasses, .config = kMptConfig, .tensors = kMptTensors, .tied_by_default = true, .inner_multiple = 4}};

}  // namespace wick
