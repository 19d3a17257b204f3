// ModernBERT (Warner et al. 2024): pre-norm blocks with RoPE; two of three layers attend to near positions alone, by a RoPE of their own.
#include "wick/base/fail.h"
#include "wick/formats/printable.h"
#include "wick/model/architectures/encoders.h"
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

// Where files do not say it.
constexpr int64_t kDefaultGlobalPeriod = 3;
constexpr double kModernBertLocalBase = 10000;

DecoderSpec describe_modern_bert(const ModelConfig& config) {
  ModelConfig own = config;
  if (own.windowed.empty()) {
    for (int64_t layer = 0; layer < own.layers; ++layer) own.windowed.push_back(layer % kDefaultGlobalPeriod != 0);
  }
  // Of so many positions, half are before a token's own and half after it.
  if (own.window > 0) own.window = own.window / 2 + 1;
  DecoderSpec spec = own.decoder(
      [&](int64_t layer) {
        AttentionSpec attention = own.attention(layer);
        attention.causal = false;
        attention.rope = own.window > 0 && own.windowed[static_cast<size_t>(layer)] ? 1 : 0;
        LayerSpec made = own.layer(std::move(attention), own.feed_forward(layer), NormKind::layer);
        if (layer == 0) made.blocks[0].norm.reset();
        return made;
      },
      NormKind::layer);
  RopeConfig local;
  local.dims = own.rope.dims;
  local.base = own.keys.positive_or("rope.freq_base_swa", kModernBertLocalBase);
  spec.ropes.push_back(local);
  make_encoder(spec, own);
  if (!spec.score_head) return spec;
  const std::string_view pooling = own.keys.find_text("classifier_pooling").value_or("cls");
  if (pooling != "cls" && pooling != "mean") {
    fail(ErrorCode::unsupported, "{}: {} = {}: this version scores the first token (cls) or the mean of all (mean)",
         own.keys.checkpoint().name(), own.keys.checkpoint().where(own.keys.key("classifier_pooling")), printable(pooling));
  }
  if (pooling == "mean" && spec.score_head->input == ScoreHeadSpec::Input::first_token) {
    spec.score_head->input = ScoreHeadSpec::Input::mean;
  }
  spec.score_head->activation = ScoreHeadSpec::Activation::gelu;
  spec.score_head->norm = own.norm("cls.norm", NormKind::layer);
  return spec;
}

constexpr KeyRule kModernBertKeys[] = {{"rope.freq_base_swa"}, {"classifier_pooling"}};
constexpr std::string_view kModernBertClasses[] = {"ModernBertModel", "ModernBertForMaskedLM", "ModernBertForSequenceClassification",
                                                   "ModernBertForTokenClassification"};
constexpr ConfigRow kModernBertConfig[] = {
    {"norm_eps", ConfigRow::Use::read, "attention.layer_norm_epsilon"},
    {"hidden_activation", ConfigRow::Use::read, "hidden_act"},
    {"global_rope_theta", ConfigRow::Use::read, "rope.freq_base"},
    {"local_rope_theta", ConfigRow::Use::read, "rope.freq_base_swa"},
    {"local_attention", ConfigRow::Use::harmless},  // read with the windows
    {"global_attn_every_n_layers", ConfigRow::Use::only_value, {}, kDefaultGlobalPeriod},
    {"classifier_pooling", ConfigRow::Use::read, "classifier_pooling"},
    {"classifier_activation", ConfigRow::Use::only_text, "gelu"},
    {"layer_norm_eps", ConfigRow::Use::harmless},  // norm_eps counts
    {"norm_bias", ConfigRow::Use::harmless},       // the tensors tell
    {"classifier_bias", ConfigRow::Use::harmless},
    {"decoder_bias", ConfigRow::Use::harmless},
    {"position_embedding_type", ConfigRow::Use::harmless},  // without positions that are learned
    {"classifier_dropout", ConfigRow::Use::harmless},
    {"embedding_dropout", ConfigRow::Use::harmless},
    {"mlp_dropout", ConfigRow::Use::harmless},
    {"deterministic_flash_attn", ConfigRow::Use::harmless},
    {"initializer_cutoff_factor", ConfigRow::Use::harmless},
    {"sparse_pred_ignore_index", ConfigRow::Use::harmless},
    {"sparse_prediction", ConfigRow::Use::harmless},
    {"gradient_checkpointing", ConfigRow::Use::harmless},
    {"reference_compile", ConfigRow::Use::harmless},
    {"repad_logits_with_grad", ConfigRow::Use::harmless},
};
constexpr std::string_view kModernBertBases[] = {"model."};
constexpr TensorRow kModernBertTensors[] = {
    {"embeddings.tok_embeddings.weight", "token_embd.weight"},
    {"embeddings.norm.weight", "token_embd_norm.weight"},
    {"embeddings.norm.bias", "token_embd_norm.bias"},
    {"final_norm.weight", "output_norm.weight"},
    {"final_norm.bias", "output_norm.bias"},
    {"layers.{}.attn_norm.weight", "blk.{}.attn_norm.weight"},
    {"layers.{}.attn_norm.bias", "blk.{}.attn_norm.bias"},
    {"layers.{}.attn.Wqkv.weight", "blk.{}.attn_qkv.weight"},
    {"layers.{}.attn.Wqkv.bias", "blk.{}.attn_qkv.bias"},
    {"layers.{}.attn.Wo.weight", "blk.{}.attn_output.weight"},
    {"layers.{}.attn.Wo.bias", "blk.{}.attn_output.bias"},
    {"layers.{}.mlp_norm.weight", "blk.{}.ffn_norm.weight"},
    {"layers.{}.mlp_norm.bias", "blk.{}.ffn_norm.bias"},
    {"layers.{}.mlp.Wi.weight", "blk.{}.ffn_up.weight"},
    {"layers.{}.mlp.Wi.bias", "blk.{}.ffn_up.bias"},
    {"layers.{}.mlp.Wo.weight", "blk.{}.ffn_down.weight"},
    {"layers.{}.mlp.Wo.bias", "blk.{}.ffn_down.bias"},
    {"head.dense.weight", "cls.weight"},
    {"head.dense.bias", "cls.bias"},
    {"head.norm.weight", "cls.norm.weight"},
    {"head.norm.bias", "cls.norm.bias"},
    {"classifier.weight", "cls.output.weight"},
    {"classifier.bias", "cls.output.bias"},
    {"decoder.weight", ""},  // predicts masked words
    {"decoder.bias", ""},
};

}  // namespace

const Architecture kModernBert = {
    .name = "modern-bert",
    .models = "ModernBERT",
    .describe = describe_modern_bert,
    .activation = nn::ActivationKind::gelu,
    .encoder = true,
    .keys = kModernBertKeys,
    .hugging_face = {.classes = kModernBertClasses, .config = kModernBertConfig, .tensors = kModernBertTensors, .bases = kModernBertBases}};

}  // namespace wick
