// MPNet (Song et al. 2020): BERT's blocks with a bias of the scores for the distance of two tokens, which all layers share.
#include "wick/model/architectures/encoder_rows.h"
#include "wick/model/architectures/encoders.h"
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

constexpr int64_t kDefaultBuckets = 32;

DecoderSpec describe_mpnet(const ModelConfig& config) {
  DecoderSpec spec = describe_post_norm_encoder(config, [&](int64_t layer) { return config.ungated_feed_forward(layer); }, -1);
  spec.ropes.clear();
  spec.learned_positions = true;
  spec.relative_bias = {.name = "attn_rel_b.weight", .buckets = config.keys.size_or("attention.relative_buckets_count", kDefaultBuckets)};
  for (LayerSpec& layer : spec.layers) std::get<AttentionSpec>(layer.blocks[0].parts[0].mixer).relative_bias = true;
  return spec;
}

constexpr KeyRule kMpnetKeys[] = {{"attention.relative_buckets_count"}};
constexpr std::string_view kMpnetClasses[] = {"MPNetModel", "MPNetForMaskedLM", "MPNetForSequenceClassification",
                                              "MPNetForTokenClassification"};
constexpr ConfigRow kMpnetOwnConfig[] = {
    {"relative_attention_num_buckets", ConfigRow::Use::read, "attention.relative_buckets_count"},
    {"MPNetModel", ConfigRow::Use::flag_of_class, kPositionsAfterPadding, 1},
    {"MPNetForMaskedLM", ConfigRow::Use::flag_of_class, kPositionsAfterPadding, 1},
    {"MPNetForSequenceClassification", ConfigRow::Use::flag_of_class, kPositionsAfterPadding, 1},
    {"MPNetForTokenClassification", ConfigRow::Use::flag_of_class, kPositionsAfterPadding, 1},
};
constexpr auto kMpnetConfig = joined(kMpnetOwnConfig, kEncoderConfig, kLaterEncoderConfig);
constexpr std::string_view kMpnetBases[] = {"mpnet."};
constexpr TensorRow kMpnetOwnTensors[] = {
    {"embeddings.position_embeddings.weight", "position_embd.weight"},
    {"encoder.relative_attention_bias.weight", "attn_rel_b.weight"},
    {"encoder.layer.{}.attention.attn.q.weight", "blk.{}.attn_q.weight"},
    {"encoder.layer.{}.attention.attn.q.bias", "blk.{}.attn_q.bias"},
    {"encoder.layer.{}.attention.attn.k.weight", "blk.{}.attn_k.weight"},
    {"encoder.layer.{}.attention.attn.k.bias", "blk.{}.attn_k.bias"},
    {"encoder.layer.{}.attention.attn.v.weight", "blk.{}.attn_v.weight"},
    {"encoder.layer.{}.attention.attn.v.bias", "blk.{}.attn_v.bias"},
    {"encoder.layer.{}.attention.attn.o.weight", "blk.{}.attn_output.weight"},
    {"encoder.layer.{}.attention.attn.o.bias", "blk.{}.attn_output.bias"},
    {"encoder.layer.{}.attention.LayerNorm.weight", "blk.{}.attn_output_norm.weight"},
    {"encoder.layer.{}.attention.LayerNorm.bias", "blk.{}.attn_output_norm.bias"},
    {"classifier.dense.weight", "cls.weight"},
    {"classifier.dense.bias", "cls.bias"},
    {"classifier.out_proj.weight", "cls.output.weight"},
    {"classifier.out_proj.bias", "cls.output.bias"},
    {"lm_head.bias", ""},
    {"lm_head.decoder.weight", ""},
    {"lm_head.decoder.bias", ""},
    {"lm_head.dense.weight", ""},
    {"lm_head.dense.bias", ""},
    {"lm_head.layer_norm.weight", ""},
    {"lm_head.layer_norm.bias", ""},
};
constexpr auto kMpnetTensors = joined(kMpnetOwnTensors, kEncoderTensors);

}  // namespace

const Architecture kMpnet = {
    .name = "mpnet",
    .models = "MPNet, all-mpnet-base",
    .describe = describe_mpnet,
    .activation = nn::ActivationKind::gelu,
    .encoder = true,
    .keys = kMpnetKeys,
    .hugging_face = {.classes = kMpnetClasses, .config = kMpnetConfig, .tensors = kMpnetTensors, .bases = kMpnetBases}};

}  // namespace wick
