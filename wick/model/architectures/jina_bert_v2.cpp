// Jina's BERT (Günther et al. 2023): BERT's post-norm blocks with biases for distances in both directions (ALiBi, Press et al. 2022) in the
// place of learned positions, and a gated feed-forward part.
#include "wick/model/architectures/encoder_rows.h"
#include "wick/model/architectures/encoders.h"
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

// What files mean that do not say otherwise.
constexpr double kLargestBias = 8;

DecoderSpec describe_jina_bert_v2(const ModelConfig& config) {
  DecoderSpec spec = describe_post_norm_encoder(config, [&](int64_t layer) { return config.feed_forward(layer); }, -1);
  spec.ropes.clear();
  for (LayerSpec& layer : spec.layers) std::get<AttentionSpec>(layer.blocks[0].parts[0].mixer).alibi = kLargestBias;
  return spec;
}

constexpr KeyRule kJinaBertV2Keys[] = {{"attention.max_alibi_bias", KeyUse::only_value, {0, kLargestBias}}};
constexpr std::string_view kJinaBertV2Classes[] = {"JinaBertModel", "JinaBertForMaskedLM", "JinaBertForSequenceClassification",
                                                   "JinaBertForTokenClassification"};
constexpr ConfigRow kJinaBertV2OwnConfig[] = {
    {"position_embedding_type", ConfigRow::Use::only_text, "alibi"},
    {"feed_forward_type", ConfigRow::Use::only_text, "geglu"},
    {"hidden_act", ConfigRow::Use::harmless},  // feed_forward_type counts
    {"attn_implementation", ConfigRow::Use::harmless},
    {"emb_pooler", ConfigRow::Use::harmless},  // of a method of its own class
    {"model_max_length", ConfigRow::Use::harmless},
};
constexpr auto kJinaBertV2Config = joined(kJinaBertV2OwnConfig, kEncoderConfig);
constexpr std::string_view kJinaBertV2Bases[] = {"bert."};
constexpr TensorRow kJinaBertV2OwnTensors[] = {
    {"embeddings.token_type_embeddings.weight", "token_types.weight"},
    {"encoder.layer.{}.mlp.gated_layers.weight", "blk.{}.ffn_up.weight"},
    {"encoder.layer.{}.mlp.wo.weight", "blk.{}.ffn_down.weight"},
    {"encoder.layer.{}.mlp.wo.bias", "blk.{}.ffn_down.bias"},
    {"encoder.layer.{}.mlp.layernorm.weight", "blk.{}.layer_output_norm.weight"},
    {"encoder.layer.{}.mlp.layernorm.bias", "blk.{}.layer_output_norm.bias"},
};
constexpr auto kJinaBertV2Tensors =
    joined(kJinaBertV2OwnTensors, kAttentionInputTensors, kAttentionOutputTensors, kMaskedWordTensors, kEncoderTensors);

}  // namespace

const Architecture kJinaBertV2 = {
    .name = "jina-bert-v2",
    .models = "Jina Embeddings 2, Jina Reranker 1",
    .describe = describe_jina_bert_v2,
    .activation = nn::ActivationKind::gelu,
    .encoder = true,
    .keys = kJinaBertV2Keys,
    .hugging_face = {.classes = kJinaBertV2Classes, .config = kJinaBertV2Config, .tensors = kJinaBertV2Tensors, .bases = kJinaBertV2Bases}};

}  // namespace wick
