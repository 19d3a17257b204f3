// GTE's second encoders (Zhang et al. 2024): BERT's post-norm blocks with RoPE, whose base and frequencies are scaled for long texts, and a
// gated feed-forward part.
#include "wick/model/architectures/encoder_rows.h"
#include "wick/model/architectures/encoders.h"
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_gte(const ModelConfig& config) {
  return describe_post_norm_encoder(config, [&](int64_t layer) { return config.feed_forward(layer); }, 0);
}

constexpr std::string_view kGteClasses[] = {"NewModel", "NewForMaskedLM", "NewForSequenceClassification", "NewForTokenClassification",
                                            "GteModel", "GteForMaskedLM", "GteForSequenceClassification", "GteForTokenClassification"};
constexpr ConfigRow kGteOwnConfig[] = {
    {"position_embedding_type", ConfigRow::Use::only_text, "rope"},
    {"layer_norm_type", ConfigRow::Use::only_text, "layer_norm"},
    {"logn_attention_scale", ConfigRow::Use::only_value, {}, 0},
    {"logn_attention_clip1", ConfigRow::Use::harmless},  // of that scale
    // How its own implementation computes the same.
    {"pack_qkv", ConfigRow::Use::harmless},
    {"unpad_inputs", ConfigRow::Use::harmless},
    {"use_memory_efficient_attention", ConfigRow::Use::harmless},
    // transformers' values.
    {"GteModel", ConfigRow::Use::of_class, "rope.freq_base", 160000},
    {"GteForMaskedLM", ConfigRow::Use::of_class, "rope.freq_base", 160000},
    {"GteForSequenceClassification", ConfigRow::Use::of_class, "rope.freq_base", 160000},
    {"GteForTokenClassification", ConfigRow::Use::of_class, "rope.freq_base", 160000},
};
constexpr auto kGteConfig = joined(kGteOwnConfig, kEncoderConfig);
constexpr std::string_view kGteBases[] = {"new.", "gte."};
constexpr TensorRow kGteOwnTensors[] = {
    {"embeddings.token_type_embeddings.weight", "token_types.weight"},
    {"encoder.layer.{}.attention.qkv_proj.weight", "blk.{}.attn_qkv.weight"},
    {"encoder.layer.{}.attention.qkv_proj.bias", "blk.{}.attn_qkv.bias"},
    {"encoder.layer.{}.attention.q_proj.weight", "blk.{}.attn_q.weight"},
    {"encoder.layer.{}.attention.q_proj.bias", "blk.{}.attn_q.bias"},
    {"encoder.layer.{}.attention.k_proj.weight", "blk.{}.attn_k.weight"},
    {"encoder.layer.{}.attention.k_proj.bias", "blk.{}.attn_k.bias"},
    {"encoder.layer.{}.attention.v_proj.weight", "blk.{}.attn_v.weight"},
    {"encoder.layer.{}.attention.v_proj.bias", "blk.{}.attn_v.bias"},
    {"encoder.layer.{}.attention.o_proj.weight", "blk.{}.attn_output.weight"},
    {"encoder.layer.{}.attention.o_proj.bias", "blk.{}.attn_output.bias"},
    {"encoder.layer.{}.attn_ln.weight", "blk.{}.attn_output_norm.weight"},
    {"encoder.layer.{}.attn_ln.bias", "blk.{}.attn_output_norm.bias"},
    {"encoder.layer.{}.mlp.up_gate_proj.weight", "blk.{}.ffn_up.weight", StoredForm::halves, "blk.{}.ffn_gate.weight"},
    {"encoder.layer.{}.mlp.down_proj.weight", "blk.{}.ffn_down.weight"},
    {"encoder.layer.{}.mlp.down_proj.bias", "blk.{}.ffn_down.bias"},
    {"encoder.layer.{}.mlp_ln.weight", "blk.{}.layer_output_norm.weight"},
    {"encoder.layer.{}.mlp_ln.bias", "blk.{}.layer_output_norm.bias"},
    // What predicts masked words takes no part in vectors of texts.
    {"lm_head.dense.weight", ""},
    {"lm_head.dense.bias", ""},
    {"lm_head.norm.weight", ""},
    {"lm_head.norm.bias", ""},
    {"lm_head.decoder.weight", ""},
    {"lm_head.decoder.bias", ""},
};
constexpr auto kGteTensors = joined(kGteOwnTensors, kEncoderTensors);

}  // namespace

const Architecture kGte = {
    .name = "gte",
    .models = "GTE (multilingual, 1.5), Snowflake Arctic Embed M 2.0; their rerankers",
    .describe = describe_gte,
    .activation = nn::ActivationKind::gelu,
    .encoder = true,
    .hugging_face = {.classes = kGteClasses, .config = kGteConfig, .tensors = kGteTensors, .bases = kGteBases, .scales_rope_base = true}};

}  // namespace wick
