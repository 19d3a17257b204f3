// BART (Lewis et al. 2020): an encoder and a decoder of post-norm blocks with learned positions. mBART (Liu et al. 2020) has the norms
// before the parts, and one more behind the last layer.
#include <cmath>
#include <string>
#include <utility>

#include "wick/model/architectures/encoder_decoders.h"
#include "wick/model/architectures/encoders.h"
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

// As torch's LayerNorm has it where nothing is said.
constexpr double kBartEpsilon = 1e-5;
constexpr double kBartPositions = 1024;

bool norms_come_first(const ModelConfig& config) { return config.keys.find_flag("norms_first").value_or(false); }

// One part with its norm.
BlockSpec block_of(const ModelConfig& config, PartSpec part, const char* name) {
  const NormSpec norm = config.norm(name, NormKind::layer);
  BlockSpec block{.parts = {std::move(part)}};
  (norms_come_first(config) ? block.norm : block.sum_norm) = norm;
  return block;
}

void finish(DecoderSpec& spec, const ModelConfig& config) {
  if (!norms_come_first(config)) spec.output_norm.reset();
  spec.ropes.clear();
  spec.embedding_norm = config.norm("token_embd_norm", NormKind::layer);
  spec.learned_positions = true;
  if (config.keys.find_flag("scale_embedding").value_or(false)) {
    spec.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(config.hidden_size)));
  }
}

DecoderSpec describe_bart_encoder(const ModelConfig& config) {
  DecoderSpec spec = config.decoder(
      [&](int64_t layer) {
        AttentionSpec attention = config.attention(layer);
        attention.causal = false;
        attention.rope = -1;
        return LayerSpec{
            {block_of(config, {std::move(attention)}, "attn_norm"), block_of(config, {config.ungated_feed_forward(layer)}, "ffn_norm")}};
      },
      NormKind::layer);
  make_encoder(spec, config);
  finish(spec, config);
  return spec;
}

DecoderSpec describe_bart(const ModelConfig& config) {
  const ModelConfig own = decoder_config(config);
  DecoderSpec spec = own.decoder(
      [&](int64_t layer) {
        AttentionSpec attention = own.attention(layer);
        attention.rope = -1;
        attention.after_source = true;
        const CrossAttentionSpec cross = attention_to_source(attention);
        return LayerSpec{{block_of(own, {std::move(attention)}, "attn_norm"), block_of(own, {cross}, "cross_attn_norm"),
                          block_of(own, {own.ungated_feed_forward(layer)}, "ffn_norm")}};
      },
      NormKind::layer);
  finish(spec, own);
  write_from_source(spec, describe_bart_encoder(config), config);
  return spec;
}

constexpr KeyRule kBartKeys[] = {
    {"decoder_block_count"},         {"decoder_start_token_id"}, {"forced_bos_token_id"}, {"decoder.attention.head_count"},
    {"decoder.feed_forward_length"}, {"scale_embedding"},        {"norms_first"}};
constexpr std::string_view kBartClasses[] = {"BartForConditionalGeneration", "MBartForConditionalGeneration"};
constexpr ConfigRow kBartConfig[] = {
    {"d_model", ConfigRow::Use::read, "embedding_length"},
    {"encoder_layers", ConfigRow::Use::read, "block_count"},
    {"decoder_layers", ConfigRow::Use::read, "decoder_block_count"},
    {"encoder_attention_heads", ConfigRow::Use::read, "attention.head_count"},
    {"decoder_attention_heads", ConfigRow::Use::read, "decoder.attention.head_count"},
    {"encoder_ffn_dim", ConfigRow::Use::read, "feed_forward_length"},
    {"decoder_ffn_dim", ConfigRow::Use::read, "decoder.feed_forward_length"},
    {"activation_function", ConfigRow::Use::read, "hidden_act"},
    {"scale_embedding", ConfigRow::Use::read, "scale_embedding"},
    {"decoder_start_token_id", ConfigRow::Use::read, "decoder_start_token_id"},
    {"forced_bos_token_id", ConfigRow::Use::read, "forced_bos_token_id"},
    {"is_decoder", ConfigRow::Use::only_value, {}, 0},
    {"static_position_embeddings", ConfigRow::Use::only_value, {}, 0},
    {"is_encoder_decoder", ConfigRow::Use::harmless},  // the class tells
    {"num_hidden_layers", ConfigRow::Use::harmless},   // encoder_layers once more
    // What transformers does not ask: the class tells where norms are.
    {"normalize_before", ConfigRow::Use::harmless},
    {"normalize_embedding", ConfigRow::Use::harmless},
    {"add_final_layer_norm", ConfigRow::Use::harmless},
    {"add_bias_logits", ConfigRow::Use::harmless},
    {"extra_pos_embeddings", ConfigRow::Use::harmless},
    {"activation_dropout", ConfigRow::Use::harmless},
    {"dropout", ConfigRow::Use::harmless},
    {"encoder_layerdrop", ConfigRow::Use::harmless},
    {"decoder_layerdrop", ConfigRow::Use::harmless},
    {"classifier_dropout", ConfigRow::Use::harmless},
    {"classif_dropout", ConfigRow::Use::harmless},
    {"init_std", ConfigRow::Use::harmless},
    {"gradient_checkpointing", ConfigRow::Use::harmless},
    // Of ways to search.
    {"forced_eos_token_id", ConfigRow::Use::harmless},
    {"force_bos_token_to_be_generated", ConfigRow::Use::harmless},
    {"num_beams", ConfigRow::Use::harmless},
    {"length_penalty", ConfigRow::Use::harmless},
    {"early_stopping", ConfigRow::Use::harmless},
    {"no_repeat_ngram_size", ConfigRow::Use::harmless},
    {"min_length", ConfigRow::Use::harmless},
    {"max_length", ConfigRow::Use::harmless},
    {"prefix", ConfigRow::Use::harmless},
    {"BartForConditionalGeneration", ConfigRow::Use::of_class, "context_length", kBartPositions},
    {"MBartForConditionalGeneration", ConfigRow::Use::of_class, "context_length", kBartPositions},
    {"BartForConditionalGeneration", ConfigRow::Use::of_class, "attention.layer_norm_epsilon", kBartEpsilon},
    {"MBartForConditionalGeneration", ConfigRow::Use::of_class, "attention.layer_norm_epsilon", kBartEpsilon},
    {"MBartForConditionalGeneration", ConfigRow::Use::flag_of_class, "norms_first", 1},
};

constexpr TensorRow kBartTensors[] = {
    {"shared.weight", "token_embd.weight"},
    {"encoder.embed_tokens.weight", ""},  // the same matrix
    {"decoder.embed_tokens.weight", ""},
    {"final_logits_bias", "output.bias"},
    {"encoder.embed_positions.weight", "enc.position_embd.weight"},
    {"encoder.layernorm_embedding.weight", "enc.token_embd_norm.weight"},
    {"encoder.layernorm_embedding.bias", "enc.token_embd_norm.bias"},
    {"encoder.layer_norm.weight", "enc.output_norm.weight"},
    {"encoder.layer_norm.bias", "enc.output_norm.bias"},
    {"encoder.layers.{}.self_attn.q_proj.weight", "enc.blk.{}.attn_q.weight"},
    {"encoder.layers.{}.self_attn.q_proj.bias", "enc.blk.{}.attn_q.bias"},
    {"encoder.layers.{}.self_attn.k_proj.weight", "enc.blk.{}.attn_k.weight"},
    {"encoder.layers.{}.self_attn.k_proj.bias", "enc.blk.{}.attn_k.bias"},
    {"encoder.layers.{}.self_attn.v_proj.weight", "enc.blk.{}.attn_v.weight"},
    {"encoder.layers.{}.self_attn.v_proj.bias", "enc.blk.{}.attn_v.bias"},
    {"encoder.layers.{}.self_attn.out_proj.weight", "enc.blk.{}.attn_output.weight"},
    {"encoder.layers.{}.self_attn.out_proj.bias", "enc.blk.{}.attn_output.bias"},
    {"encoder.layers.{}.self_attn_layer_norm.weight", "enc.blk.{}.attn_norm.weight"},
    {"encoder.layers.{}.self_attn_layer_norm.bias", "enc.blk.{}.attn_norm.bias"},
    {"encoder.layers.{}.fc1.weight", "enc.blk.{}.ffn_up.weight"},
    {"encoder.layers.{}.fc1.bias", "enc.blk.{}.ffn_up.bias"},
    {"encoder.layers.{}.fc2.weight", "enc.blk.{}.ffn_down.weight"},
    {"encoder.layers.{}.fc2.bias", "enc.blk.{}.ffn_down.bias"},
    {"encoder.layers.{}.final_layer_norm.weight", "enc.blk.{}.ffn_norm.weight"},
    {"encoder.layers.{}.final_layer_norm.bias", "enc.blk.{}.ffn_norm.bias"},
    {"decoder.embed_positions.weight", "dec.position_embd.weight"},
    {"decoder.layernorm_embedding.weight", "dec.token_embd_norm.weight"},
    {"decoder.layernorm_embedding.bias", "dec.token_embd_norm.bias"},
    {"decoder.layer_norm.weight", "dec.output_norm.weight"},
    {"decoder.layer_norm.bias", "dec.output_norm.bias"},
    {"decoder.layers.{}.self_attn.q_proj.weight", "dec.blk.{}.attn_q.weight"},
    {"decoder.layers.{}.self_attn.q_proj.bias", "dec.blk.{}.attn_q.bias"},
    {"decoder.layers.{}.self_attn.k_proj.weight", "dec.blk.{}.attn_k.weight"},
    {"decoder.layers.{}.self_attn.k_proj.bias", "dec.blk.{}.attn_k.bias"},
    {"decoder.layers.{}.self_attn.v_proj.weight", "dec.blk.{}.attn_v.weight"},
    {"decoder.layers.{}.self_attn.v_proj.bias", "dec.blk.{}.attn_v.bias"},
    {"decoder.layers.{}.self_attn.out_proj.weight", "dec.blk.{}.attn_output.weight"},
    {"decoder.layers.{}.self_attn.out_proj.bias", "dec.blk.{}.attn_output.bias"},
    {"decoder.layers.{}.self_attn_layer_norm.weight", "dec.blk.{}.attn_norm.weight"},
    {"decoder.layers.{}.self_attn_layer_norm.bias", "dec.blk.{}.attn_norm.bias"},
    {"decoder.layers.{}.encoder_attn.q_proj.weight", "dec.blk.{}.cross_attn_q.weight"},
    {"decoder.layers.{}.encoder_attn.q_proj.bias", "dec.blk.{}.cross_attn_q.bias"},
    {"decoder.layers.{}.encoder_attn.k_proj.weight", "dec.blk.{}.cross_attn_k.weight"},
    {"decoder.layers.{}.encoder_attn.k_proj.bias", "dec.blk.{}.cross_attn_k.bias"},
    {"decoder.layers.{}.encoder_attn.v_proj.weight", "dec.blk.{}.cross_attn_v.weight"},
    {"decoder.layers.{}.encoder_attn.v_proj.bias", "dec.blk.{}.cross_attn_v.bias"},
    {"decoder.layers.{}.encoder_attn.out_proj.weight", "dec.blk.{}.cross_attn_output.weight"},
    {"decoder.layers.{}.encoder_attn.out_proj.bias", "dec.blk.{}.cross_attn_output.bias"},
    {"decoder.layers.{}.encoder_attn_layer_norm.weight", "dec.blk.{}.cross_attn_norm.weight"},
    {"decoder.layers.{}.encoder_attn_layer_norm.bias", "dec.blk.{}.cross_attn_norm.bias"},
    {"decoder.layers.{}.fc1.weight", "dec.blk.{}.ffn_up.weight"},
    {"decoder.layers.{}.fc1.bias", "dec.blk.{}.ffn_up.bias"},
    {"decoder.layers.{}.fc2.weight", "dec.blk.{}.ffn_down.weight"},
    {"decoder.layers.{}.fc2.bias", "dec.blk.{}.ffn_down.bias"},
    {"decoder.layers.{}.final_layer_norm.weight", "dec.blk.{}.ffn_norm.weight"},
    {"decoder.layers.{}.final_layer_norm.bias", "dec.blk.{}.ffn_norm.bias"},
};
constexpr std::string_view kBartBases[] = {"model."};

}  // namespace

const Architecture kBart = {.name = "bart",
                            .models = "BART, DistilBART, mBART",
                            .describe = describe_bart,
                            .activation = nn::ActivationKind::gelu,
                            .encoder_decoder = true,
                            .keys = kBartKeys,
                            .hugging_face = {.classes = kBartClasses,
                                             .config = kBartConfig,
                                             .tensors = kBartTensors,
                                             .bases = kBartBases,
                                             .tied_by_default = true,
                                             .unused_positions = 2}};

}  // namespace wick
