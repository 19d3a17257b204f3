// The encoder of T5 (Raffel et al. 2020), mT5 and sentence-T5: pre-norm blocks of rms norms, scores that are not scaled, and a bias of the
// scores for the distance of two tokens, which all layers share.
#include "wick/model/architectures/encoders.h"
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

constexpr int64_t kT5Buckets = 32;
// What transformers has where the configuration does not say it: no position is beyond the last one.
constexpr double kT5Positions = 512, kT5HeadDim = 64;

DecoderSpec describe_t5_encoder(const ModelConfig& config) {
  ModelConfig own = config;
  own.attention_scale = 1;
  const bool gated = config.keys.checkpoint().find_tensor("blk.0.ffn_gate.weight") != nullptr;
  if (!config.keys.has("hidden_act")) own.activation = gated ? nn::ActivationKind::new_gelu : nn::ActivationKind::relu;
  DecoderSpec spec = own.decoder([&](int64_t layer) {
    AttentionSpec attention = own.attention(layer);
    attention.causal = false;
    attention.rope = -1;
    attention.relative_bias = true;
    return own.layer(std::move(attention), gated ? own.feed_forward(layer) : own.ungated_feed_forward(layer));
  });
  make_encoder(spec, own);
  spec.ropes.clear();
  spec.embedding_norm.reset();
  spec.relative_bias = {.name = "blk.0.attn_rel_b.weight",
                        .buckets = own.keys.size_or("attention.relative_buckets_count", kT5Buckets),
                        .max_distance = own.keys.size_or("attention.relative_max_distance", RelativeBiasSpec().max_distance)};
  return spec;
}

constexpr KeyRule kT5EncoderKeys[] = {{"attention.relative_buckets_count"}, {"attention.relative_max_distance"}};
constexpr std::string_view kT5EncoderClasses[] = {"T5EncoderModel", "MT5EncoderModel"};
constexpr ConfigRow kT5EncoderConfig[] = {
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
    // The class has the encoder alone.
    {"is_encoder_decoder", ConfigRow::Use::harmless},
    {"num_decoder_layers", ConfigRow::Use::harmless},
    {"decoder_start_token_id", ConfigRow::Use::harmless},
    {"scale_decoder_outputs", ConfigRow::Use::harmless},
    {"dropout_rate", ConfigRow::Use::harmless},
    {"classifier_dropout", ConfigRow::Use::harmless},
    {"initializer_factor", ConfigRow::Use::harmless},
    {"output_past", ConfigRow::Use::harmless},
    {"tokenizer_class", ConfigRow::Use::harmless},
    {"T5EncoderModel", ConfigRow::Use::of_class, "context_length", kT5Positions},
    {"MT5EncoderModel", ConfigRow::Use::of_class, "context_length", kT5Positions},
    {"T5EncoderModel", ConfigRow::Use::of_class, "attention.key_length", kT5HeadDim},
    {"MT5EncoderModel", ConfigRow::Use::of_class, "attention.key_length", kT5HeadDim},
};
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

}  // namespace

const Architecture kT5Encoder = {.name = "t5encoder",
                                 .models = "the encoders of T5, mT5 and sentence-T5",
                                 .describe = describe_t5_encoder,
                                 .encoder = true,
                                 .keys = kT5EncoderKeys,
                                 .hugging_face = {.classes = kT5EncoderClasses, .config = kT5EncoderConfig, .tensors = kT5EncoderTensors}};

}  // namespace wick
