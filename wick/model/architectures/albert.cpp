// ALBERT (Lan et al. 2020): BERT's blocks, whose weights layers share by groups, and narrow embeddings with a projection.
#include "wick/base/fail.h"
#include "wick/model/architectures/encoder_rows.h"
#include "wick/model/architectures/encoders.h"
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

// Layer i has the weights of group ⌊i · groups / layers⌋.
DecoderSpec describe_albert(const ModelConfig& config) {
  const int64_t groups = config.keys.size_or("layer_groups", 1);
  if (groups > config.layers) {
    config.keys.fail_value("layer_groups", std::to_string(groups), fmt::format("want at most the {} layers", config.layers));
  }
  ModelConfig shared = config;
  shared.layers = groups;
  DecoderSpec spec = describe_post_norm_encoder(shared, [&](int64_t layer) { return config.ungated_feed_forward(layer); }, -1);
  spec.ropes.clear();
  spec.learned_positions = true;
  for (int64_t group = 0; group < groups; ++group) {
    const auto first_of = [&](int64_t number) { return (number * config.layers + groups - 1) / groups; };
    spec.layers[static_cast<size_t>(group)].times = first_of(group + 1) - first_of(group);
  }
  return spec;
}

constexpr KeyRule kAlbertKeys[] = {{"layer_groups"}};
constexpr std::string_view kAlbertClasses[] = {"AlbertModel", "AlbertForMaskedLM", "AlbertForPreTraining",
                                               "AlbertForSequenceClassification", "AlbertForTokenClassification"};
constexpr ConfigRow kAlbertOwnConfig[] = {
    {"embedding_size", ConfigRow::Use::harmless},  // the tensor tells
    {"num_hidden_groups", ConfigRow::Use::read, "layer_groups"},
    {"inner_group_num", ConfigRow::Use::only_value, {}, 1},
    {"position_embedding_type", ConfigRow::Use::only_text, "absolute"},
    // Of an implementation before this one, which transformers does not read.
    {"down_scale_factor", ConfigRow::Use::harmless},
    {"gap_size", ConfigRow::Use::harmless},
    {"net_structure_type", ConfigRow::Use::harmless},
    {"num_memory_blocks", ConfigRow::Use::harmless},
};
constexpr auto kAlbertConfig = joined(kAlbertOwnConfig, kEncoderConfig, kLaterEncoderConfig);
constexpr std::string_view kAlbertBases[] = {"albert."};
constexpr TensorRow kAlbertTensors[] = {
    {"embeddings.word_embeddings.weight", "token_embd.weight"},
    {"embeddings.position_embeddings.weight", "position_embd.weight"},
    {"embeddings.token_type_embeddings.weight", "token_types.weight"},
    {"embeddings.LayerNorm.weight", "token_embd_norm.weight"},
    {"embeddings.LayerNorm.bias", "token_embd_norm.bias"},
    {"embeddings.position_ids", ""},
    {"embeddings.token_type_ids", ""},
    {"encoder.embedding_hidden_mapping_in.weight", "token_embd_proj.weight"},
    {"encoder.embedding_hidden_mapping_in.bias", "token_embd_proj.bias"},
    {"encoder.albert_layer_groups.{}.albert_layers.0.attention.query.weight", "blk.{}.attn_q.weight"},
    {"encoder.albert_layer_groups.{}.albert_layers.0.attention.query.bias", "blk.{}.attn_q.bias"},
    {"encoder.albert_layer_groups.{}.albert_layers.0.attention.key.weight", "blk.{}.attn_k.weight"},
    {"encoder.albert_layer_groups.{}.albert_layers.0.attention.key.bias", "blk.{}.attn_k.bias"},
    {"encoder.albert_layer_groups.{}.albert_layers.0.attention.value.weight", "blk.{}.attn_v.weight"},
    {"encoder.albert_layer_groups.{}.albert_layers.0.attention.value.bias", "blk.{}.attn_v.bias"},
    {"encoder.albert_layer_groups.{}.albert_layers.0.attention.dense.weight", "blk.{}.attn_output.weight"},
    {"encoder.albert_layer_groups.{}.albert_layers.0.attention.dense.bias", "blk.{}.attn_output.bias"},
    {"encoder.albert_layer_groups.{}.albert_layers.0.attention.LayerNorm.weight", "blk.{}.attn_output_norm.weight"},
    {"encoder.albert_layer_groups.{}.albert_layers.0.attention.LayerNorm.bias", "blk.{}.attn_output_norm.bias"},
    {"encoder.albert_layer_groups.{}.albert_layers.0.ffn.weight", "blk.{}.ffn_up.weight"},
    {"encoder.albert_layer_groups.{}.albert_layers.0.ffn.bias", "blk.{}.ffn_up.bias"},
    {"encoder.albert_layer_groups.{}.albert_layers.0.ffn_output.weight", "blk.{}.ffn_down.weight"},
    {"encoder.albert_layer_groups.{}.albert_layers.0.ffn_output.bias", "blk.{}.ffn_down.bias"},
    {"encoder.albert_layer_groups.{}.albert_layers.0.full_layer_layer_norm.weight", "blk.{}.layer_output_norm.weight"},
    {"encoder.albert_layer_groups.{}.albert_layers.0.full_layer_layer_norm.bias", "blk.{}.layer_output_norm.bias"},
    {"pooler.weight", "cls.pooler.weight"},
    {"pooler.bias", "cls.pooler.bias"},
    {"classifier.weight", "cls.output.weight"},
    {"classifier.bias", "cls.output.bias"},
    // What predicts masked words or the order of sentences takes no part in vectors of texts.
    {"predictions.bias", ""},
    {"predictions.decoder.weight", ""},
    {"predictions.decoder.bias", ""},
    {"predictions.dense.weight", ""},
    {"predictions.dense.bias", ""},
    {"predictions.LayerNorm.weight", ""},
    {"predictions.LayerNorm.bias", ""},
    {"sop_classifier.classifier.weight", ""},
    {"sop_classifier.classifier.bias", ""},
};

}  // namespace

const Architecture kAlbert = {
    .name = "albert",
    .models = "ALBERT",
    .describe = describe_albert,
    .activation = nn::ActivationKind::new_gelu,
    .encoder = true,
    .keys = kAlbertKeys,
    .hugging_face = {.classes = kAlbertClasses, .config = kAlbertConfig, .tensors = kAlbertTensors, .bases = kAlbertBases}};

}  // namespace wick
