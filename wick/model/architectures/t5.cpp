// T5 (Raffel et al. 2020), mT5, and the encoder of both and of sentence-T5 alone: pre-norm blocks of rms norms, scores that are not scaled,
// and a bias of the scores for the distance of two tokens, which all layers of an encoder or a decoder share.
#include <cmath>
#include <string>
#include <utility>

#include "wick/model/architectures/encoder_decoders.h"
#include "wick/model/architectures/encoders.h"
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

constexpr int64_t kT5Buckets = 32;
// What transformers has where the configuration does not say it: no position is beyond the last one.
constexpr double kT5Positions = 512, kT5HeadDim = 64;

// As all layers of T5 have them.
struct T5Layers {
  ModelConfig config;
  bool gated = false;

  // `prefix`: of the names of the tensors of an encoder or a decoder.
  T5Layers(const ModelConfig& of, const std::string& prefix)
      : config(of), gated(of.keys.checkpoint().find_tensor(prefix + "blk.0.ffn_gate.weight") != nullptr) {
    config.attention_scale = 1;
    if (!config.keys.has("hidden_act")) config.activation = gated ? nn::ActivationKind::new_gelu : nn::ActivationKind::relu;
  }
  [[nodiscard]] AttentionSpec attention(int64_t layer) const {
    AttentionSpec attention = config.attention(layer);
    attention.rope = -1;
    attention.relative_bias = true;
    return attention;
  }
  [[nodiscard]] FeedForwardSpec feed_forward(int64_t layer) const {
    return gated ? config.feed_forward(layer) : config.ungated_feed_forward(layer);
  }
  [[nodiscard]] RelativeBiasSpec relative_bias() const {
    return {.name = "blk.0.attn_rel_b.weight",
            .buckets = config.keys.size_or("attention.relative_buckets_count", kT5Buckets),
            .max_distance = config.keys.size_or("attention.relative_max_distance", RelativeBiasSpec().max_distance)};
  }
};

DecoderSpec describe_encoder(const ModelConfig& config, const std::string& prefix) {
  const T5Layers layers(config, prefix);
  DecoderSpec spec = layers.config.decoder([&](int64_t layer) {
    AttentionSpec attention = layers.attention(layer);
    attention.causal = false;
    return layers.config.layer(std::move(attention), layers.feed_forward(layer));
  });
  make_encoder(spec, layers.config);
  spec.ropes.clear();
  spec.embedding_norm.reset();
  spec.relative_bias = layers.relative_bias();
  return spec;
}

DecoderSpec describe_t5_encoder(const ModelConfig& config) { return describe_encoder(config, ""); }

DecoderSpec describe_t5(const ModelConfig& config) {
  const T5Layers layers(decoder_config(config), kDecoderPrefix);
  DecoderSpec spec = layers.config.decoder([&](int64_t layer) {
    AttentionSpec attention = layers.attention(layer);
    attention.after_source = true;
    const CrossAttentionSpec cross = attention_to_source(attention);
    LayerSpec blocks = layers.config.layer(std::move(attention), layers.feed_forward(layer));
    blocks.blocks.insert(blocks.blocks.begin() + 1, BlockSpec{.norm = config.norm("cross_attn_norm"), .parts = {{cross}}});
    return blocks;
  });
  spec.ropes.clear();
  spec.relative_bias = layers.relative_bias();
  spec.relative_bias->bidirectional = false;
  // Of the embedding as the head.
  const bool is_tied = config.keys.checkpoint().find_tensor("output.weight") == nullptr;
  if (config.keys.find_flag("scale_decoder_outputs").value_or(is_tied)) {
    spec.logit_scale = static_cast<float>(1 / std::sqrt(static_cast<double>(config.hidden_size)));
  }
  write_from_source(spec, describe_encoder(config, kEncoderPrefix), config);
  return spec;
}

constexpr KeyRule kT5EncoderKeys[] = {{"attention.relative_buckets_count"}, {"attention.relative_max_distance"}};
constexpr std::string_view kT5EncoderClasses[] = {"T5EncoderModel", "MT5EncoderModel"};
constexpr ConfigRow kBothConfig[] = {
    {"d_model", ConfigRow::Use::read, "embedding_length"},
    {"d_kv", ConfigRow::Use::read, "attention.key_length"},
    {"d_ff", ConfigRow::Use::read, "feed_forward_length"},
    {"num_layers", ConfigRow::Use::read, "block_count"},
    {"num_heads", ConfigRow::Use::read, "attention.head_count"},
    {"n_positions", ConfigRow::Use::read, "context_length"},
    {"layer_norm_epsilon", ConfigRow::Use::read, "attention.layer_norm_rms_epsilon"},
    {"relative_attention_num_buckets", ConfigRow::Use::read, "attention.relative_buckets_count"},
    {"relative_attention_max_distance", ConfigRow::Use::read, "attention.relative_max_distance"},
    {"feed_forward_proj", ConfigRow::Use::only_text, "relu gated-gelu"},
    {"dense_act_fn", ConfigRow::Use::read, "hidden_act"},
    {"is_gated_act", ConfigRow::Use::harmless},  // the tensors tell
    {"is_decoder", ConfigRow::Use::only_value, {}, 0},
    {"is_encoder_decoder", ConfigRow::Use::harmless},  // the class tells
    {"dropout_rate", ConfigRow::Use::harmless},
    {"classifier_dropout", ConfigRow::Use::harmless},
    {"initializer_factor", ConfigRow::Use::harmless},
    {"output_past", ConfigRow::Use::harmless},
    {"tokenizer_class", ConfigRow::Use::harmless},
};
constexpr ConfigRow kEncoderConfig[] = {
    // The class has the encoder alone.
    {"num_decoder_layers", ConfigRow::Use::harmless},
    {"decoder_start_token_id", ConfigRow::Use::harmless},
    {"scale_decoder_outputs", ConfigRow::Use::harmless},
    {"T5EncoderModel", ConfigRow::Use::of_class, "context_length", kT5Positions},
    {"MT5EncoderModel", ConfigRow::Use::of_class, "context_length", kT5Positions},
    {"T5EncoderModel", ConfigRow::Use::of_class, "attention.key_length", kT5HeadDim},
    {"MT5EncoderModel", ConfigRow::Use::of_class, "attention.key_length", kT5HeadDim},
};
constexpr auto kT5EncoderConfig = joined(kBothConfig, kEncoderConfig);
constexpr TensorRow kT5EncoderTensors[] = {
    {"shared.weight", "token_embd.weight"},
    {"encoder.embed_tokens.weight", ""},  // the same matrix
    {"encoder.block.{}.layer.0.SelfAttention.relative_attention_bias.weight", "blk.{}.attn_rel_b.weight"},
    {"encoder.block.{}.layer.0.SelfAttention.q.weight", "blk.{}.attn_q.weight"},
    {"encoder.block.{}.layer.0.SelfAttention.k.weight", "blk.{}.attn_k.weight"},
    {"encoder.block.{}.layer.0.SelfAttention.v.weight", "blk.{}.attn_v.weight"},
    {"encoder.block.{}.layer.0.SelfAttention.o.weight", "blk.{}.attn_output.weight"},
    {"encoder.block.{}.layer.0.layer_norm.weight", "blk.{}.attn_norm.weight"},
    {"encoder.block.{}.layer.1.DenseReluDense.wi.weight", "blk.{}.ffn_up.weight"},
    {"encoder.block.{}.layer.1.DenseReluDense.wi_0.weight", "blk.{}.ffn_gate.weight"},
    {"encoder.block.{}.layer.1.DenseReluDense.wi_1.weight", "blk.{}.ffn_up.weight"},
    {"encoder.block.{}.layer.1.DenseReluDense.wo.weight", "blk.{}.ffn_down.weight"},
    {"encoder.block.{}.layer.1.layer_norm.weight", "blk.{}.ffn_norm.weight"},
    {"encoder.final_layer_norm.weight", "output_norm.weight"},
};

constexpr KeyRule kT5Keys[] = {{"attention.relative_buckets_count"},
                               {"attention.relative_max_distance"},
                               {"decoder_block_count"},
                               {"decoder_start_token_id"},
                               {"forced_bos_token_id"},
                               {"scale_decoder_outputs"}};
constexpr std::string_view kT5Classes[] = {"T5ForConditionalGeneration", "MT5ForConditionalGeneration", "T5WithLMHeadModel"};
constexpr ConfigRow kWriterConfig[] = {
    {"num_decoder_layers", ConfigRow::Use::read, "decoder_block_count"},
    {"decoder_start_token_id", ConfigRow::Use::read, "decoder_start_token_id"},
    {"forced_bos_token_id", ConfigRow::Use::read, "forced_bos_token_id"},
    {"scale_decoder_outputs", ConfigRow::Use::read, "scale_decoder_outputs"},
    {"T5ForConditionalGeneration", ConfigRow::Use::of_class, "context_length", kT5Positions},
    {"MT5ForConditionalGeneration", ConfigRow::Use::of_class, "context_length", kT5Positions},
    {"T5WithLMHeadModel", ConfigRow::Use::of_class, "context_length", kT5Positions},
    {"T5ForConditionalGeneration", ConfigRow::Use::of_class, "attention.key_length", kT5HeadDim},
    {"MT5ForConditionalGeneration", ConfigRow::Use::of_class, "attention.key_length", kT5HeadDim},
    {"T5WithLMHeadModel", ConfigRow::Use::of_class, "attention.key_length", kT5HeadDim},
    {"MT5ForConditionalGeneration", ConfigRow::Use::flag_of_class, "scale_decoder_outputs", 0},
};
constexpr auto kT5Config = joined(kBothConfig, kWriterConfig);
constexpr TensorRow kT5Tensors[] = {
    {"shared.weight", "token_embd.weight"},
    {"encoder.embed_tokens.weight", ""},  // the same matrix
    {"decoder.embed_tokens.weight", ""},
    // Early versions saved it, and computed without.
    {"decoder.block.{}.layer.1.EncDecAttention.relative_attention_bias.weight", ""},
    {"encoder.block.{}.layer.0.SelfAttention.relative_attention_bias.weight", "enc.blk.{}.attn_rel_b.weight"},
    {"encoder.block.{}.layer.0.SelfAttention.q.weight", "enc.blk.{}.attn_q.weight"},
    {"encoder.block.{}.layer.0.SelfAttention.k.weight", "enc.blk.{}.attn_k.weight"},
    {"encoder.block.{}.layer.0.SelfAttention.v.weight", "enc.blk.{}.attn_v.weight"},
    {"encoder.block.{}.layer.0.SelfAttention.o.weight", "enc.blk.{}.attn_output.weight"},
    {"encoder.block.{}.layer.0.layer_norm.weight", "enc.blk.{}.attn_norm.weight"},
    {"encoder.block.{}.layer.1.DenseReluDense.wi.weight", "enc.blk.{}.ffn_up.weight"},
    {"encoder.block.{}.layer.1.DenseReluDense.wi_0.weight", "enc.blk.{}.ffn_gate.weight"},
    {"encoder.block.{}.layer.1.DenseReluDense.wi_1.weight", "enc.blk.{}.ffn_up.weight"},
    {"encoder.block.{}.layer.1.DenseReluDense.wo.weight", "enc.blk.{}.ffn_down.weight"},
    {"encoder.block.{}.layer.1.layer_norm.weight", "enc.blk.{}.ffn_norm.weight"},
    {"encoder.final_layer_norm.weight", "enc.output_norm.weight"},
    {"decoder.block.{}.layer.0.SelfAttention.relative_attention_bias.weight", "dec.blk.{}.attn_rel_b.weight"},
    {"decoder.block.{}.layer.0.SelfAttention.q.weight", "dec.blk.{}.attn_q.weight"},
    {"decoder.block.{}.layer.0.SelfAttention.k.weight", "dec.blk.{}.attn_k.weight"},
    {"decoder.block.{}.layer.0.SelfAttention.v.weight", "dec.blk.{}.attn_v.weight"},
    {"decoder.block.{}.layer.0.SelfAttention.o.weight", "dec.blk.{}.attn_output.weight"},
    {"decoder.block.{}.layer.0.layer_norm.weight", "dec.blk.{}.attn_norm.weight"},
    {"decoder.block.{}.layer.1.EncDecAttention.q.weight", "dec.blk.{}.cross_attn_q.weight"},
    {"decoder.block.{}.layer.1.EncDecAttention.k.weight", "dec.blk.{}.cross_attn_k.weight"},
    {"decoder.block.{}.layer.1.EncDecAttention.v.weight", "dec.blk.{}.cross_attn_v.weight"},
    {"decoder.block.{}.layer.1.EncDecAttention.o.weight", "dec.blk.{}.cross_attn_output.weight"},
    {"decoder.block.{}.layer.1.layer_norm.weight", "dec.blk.{}.cross_attn_norm.weight"},
    {"decoder.block.{}.layer.2.DenseReluDense.wi.weight", "dec.blk.{}.ffn_up.weight"},
    {"decoder.block.{}.layer.2.DenseReluDense.wi_0.weight", "dec.blk.{}.ffn_gate.weight"},
    {"decoder.block.{}.layer.2.DenseReluDense.wi_1.weight", "dec.blk.{}.ffn_up.weight"},
    {"decoder.block.{}.layer.2.DenseReluDense.wo.weight", "dec.blk.{}.ffn_down.weight"},
    {"decoder.block.{}.layer.2.layer_norm.weight", "dec.blk.{}.ffn_norm.weight"},
    {"decoder.final_layer_norm.weight", "dec.output_norm.weight"},
};

}  // namespace

const Architecture kT5Encoder = {.name = "t5encoder",
                                 .models = "the encoders of T5, mT5 and sentence-T5",
                                 .describe = describe_t5_encoder,
                                 .encoder = true,
                                 .keys = kT5EncoderKeys,
                                 .hugging_face = {.classes = kT5EncoderClasses, .config = kT5EncoderConfig, .tensors = kT5EncoderTensors}};

const Architecture kT5 = {.name = "t5",
                          .models = "T5, Flan-T5, mT5",
                          .describe = describe_t5,
                          .encoder_decoder = true,
                          .keys = kT5Keys,
                          .hugging_face = {.classes = kT5Classes, .config = kT5Config, .tensors = kT5Tensors, .tied_by_default = true}};

}  // namespace wick
