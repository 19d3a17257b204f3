// DeBERTa 2 and 3 (He et al. 2021): BERT's blocks without positions of tokens; scores have a part from a token to the distance of the
// other, and one from the distance to the other token (disentangled attention).
#include <cmath>
#include <cstdlib>
#include <utility>

#include "wick/base/fail.h"
#include "wick/model/architectures/encoder_rows.h"
#include "wick/model/architectures/encoders.h"
#include "wick/model/architectures/rows.h"
#include "wick/model/mixers/mixer.h"

namespace wick {
namespace {

constexpr const char* kDebertaBuckets = "attention.relative_buckets_count";
constexpr const char* kDebertaDistance = "attention.max_relative_distance";

struct DistanceBuckets {
  int64_t buckets = 0;  // 0: each distance is its own
  int64_t max_distance = 0;

  // Half as many distances as there are rows.
  [[nodiscard]] int64_t span() const noexcept { return buckets > 0 ? buckets : max_distance; }
  // Of a query's position less the key's, in f32 as transformers computes it.
  [[nodiscard]] int64_t of(int64_t distance) const {
    const int64_t mid = buckets / 2, away = std::abs(distance);
    if (buckets == 0 || away <= mid) return distance;
    const float steps = std::log(static_cast<float>(away) / static_cast<float>(mid)) /
                        std::log(static_cast<float>(static_cast<double>(max_distance - 1) / static_cast<double>(mid)));
    const auto bucket = static_cast<int64_t>(std::ceil(steps * static_cast<float>(mid - 1))) + mid;
    return distance < 0 ? -bucket : bucket;
  }
};

// score(i, j) += (query i · position key b + key j · position query b) · scale, b being the bucket of i - j. Position keys and queries are
// the layer's projections of rel_embd, or those of attn_pos_k and attn_pos_q.
class DisentangledBias final : public ScoreBias {
 public:
  struct Sizes {
    int64_t heads, head_dim, hidden_size;
    float scale;
    DistanceBuckets buckets;
    std::optional<NormSpec> norm;
  };

  DisentangledBias(const Sizes& sizes, WeightReader& weights, int64_t layer) : sizes_(sizes) {
    Tensor rows = weights.vectors("rel_embd.weight", 2 * sizes.buckets.span(), sizes.hidden_size);
    if (sizes.norm) rows = Norm(*sizes.norm, weights, "", sizes.hidden_size)(rows);
    const std::string prefix = fmt::format("blk.{}.", layer);
    const auto projected = [&](const char* own, const char* shared) {
      const std::string name = prefix + (weights.has(prefix + own + ".weight") ? own : shared);
      const int64_t width = sizes.heads * sizes.head_dim;
      const ScaledMatrix matrix = weights.matrix(name, width, sizes.hidden_size);
      LinearParams params;
      params.precise = true;
      const Tensor product = biased(matrix.scaled(linear(rows, matrix.weight, params)), weights.find_vector(name + ".bias", width));
      // [heads, head_dim, rows]
      return (product.reshape({rows.dim(0), sizes.heads, sizes.head_dim}) * static_cast<double>(sizes.scale))
          .permute({1, 2, 0})
          .contiguous();
    };
    position_keys_ = projected("attn_pos_k", "attn_k");
    position_queries_ = projected("attn_pos_q", "attn_q");
  }

  [[nodiscard]] Tensor of(const Tensor& query, const Tensor& key, const StepInputs& step) const override {
    const Device& device = query.device();
    const int64_t rows = query.dim(0), longest = step.longest, span = sizes_.buckets.span();
    const Tensor own = step.positions.to_dtype(DType::f32).reshape({rows, 1});
    const Tensor others = Tensor::arange(0, static_cast<double>(longest), DType::f32, device).reshape({1, longest});
    std::vector<float> of_distance;
    for (int64_t distance = 1 - longest; distance < longest; ++distance) {
      of_distance.push_back(static_cast<float>(std::clamp<int64_t>(sizes_.buckets.of(distance) + span, 0, 2 * span - 1)));
    }
    const Tensor distances = (own - others + static_cast<double>(longest - 1)).to_dtype(DType::i32).reshape({rows * longest});
    const Tensor bucket = Tensor::from_vector(of_distance, {2 * longest - 1}, device).index_select(distances, 0).reshape({rows, longest});
    // The rows of a text are consecutive; keys past its end are ignored.
    const Tensor number = Tensor::arange(0, static_cast<double>(rows), DType::f32, device).reshape({rows, 1});
    const Tensor of_key = (number - own + others).clamp(0, static_cast<double>(rows - 1));
    const auto gathered = [&](const Tensor& side, const Tensor& positions, const Tensor& row) {
      const Tensor scores = side.transpose(0, 1).contiguous().matmul(positions).reshape({sizes_.heads, rows * 2 * span});
      const Tensor places = (row * static_cast<double>(2 * span)).to_dtype(DType::i32) + bucket.to_dtype(DType::i32);
      return scores.index_select(places.reshape({rows * longest}), 1).reshape({sizes_.heads, rows, longest});
    };
    return gathered(query, position_keys_, number) + gathered(key, position_queries_, of_key);
  }

 private:
  Sizes sizes_;
  Tensor position_keys_, position_queries_;  // [heads, head_dim, 2 · span], times the scale
};

DecoderSpec describe_deberta(const ModelConfig& config) {
  DistanceBuckets buckets{.buckets = static_cast<int64_t>(std::max(config.keys.find_number(kDebertaBuckets).value_or(0), 0.0)),
                          .max_distance = static_cast<int64_t>(std::max(config.keys.find_number(kDebertaDistance).value_or(0), 0.0))};
  if (buckets.max_distance < 1) buckets.max_distance = config.context_length;
  if (buckets.buckets == 1 || buckets.buckets > 1 << 20 || buckets.max_distance > 1 << 20) {
    config.keys.fail_value(kDebertaBuckets, std::to_string(buckets.buckets), "want 2 to 1048576 buckets, or 0 for none");
  }
  ModelConfig own = config;
  // Three scores are summed.
  own.attention_scale = 1 / std::sqrt(3 * static_cast<double>(config.head_dim));
  DisentangledBias::Sizes sizes{config.heads, config.head_dim, config.hidden_size, static_cast<float>(own.attention_scale), buckets, {}};
  if (config.keys.checkpoint().find_tensor("rel_embd_norm.weight") != nullptr) sizes.norm = config.norm("rel_embd_norm", NormKind::layer);
  DecoderSpec spec = describe_post_norm_encoder(own, [&](int64_t layer) { return config.ungated_feed_forward(layer); }, -1);
  spec.ropes.clear();
  for (LayerSpec& layer : spec.layers) {
    auto& attention = std::get<AttentionSpec>(layer.blocks[0].parts[0].mixer);
    attention.own_bias = {"disentangled", [sizes](WeightReader& weights, int64_t index) -> std::unique_ptr<ScoreBias> {
                            return std::make_unique<DisentangledBias>(sizes, weights, index);
                          }};
  }
  return spec;
}

constexpr KeyRule kDebertaKeys[] = {{kDebertaBuckets}, {kDebertaDistance}};
constexpr std::string_view kDebertaClasses[] = {"DebertaV2Model", "DebertaV2ForMaskedLM", "DebertaV2ForSequenceClassification",
                                                "DebertaV2ForTokenClassification"};
constexpr ConfigRow kDebertaOwnConfig[] = {
    {"position_buckets", ConfigRow::Use::read, kDebertaBuckets},
    {"max_relative_positions", ConfigRow::Use::read, kDebertaDistance},
    {"relative_attention", ConfigRow::Use::only_value, {}, 1},
    {"position_biased_input", ConfigRow::Use::only_value, {}, 0},
    {"pos_att_type", ConfigRow::Use::only_text, "p2c|c2p c2p|p2c"},
    {"norm_rel_ebd", ConfigRow::Use::only_text, "layer_norm none"},  // the tensor tells
    {"share_att_key", ConfigRow::Use::harmless},                     // the tensors tell
    {"embedding_size", ConfigRow::Use::harmless},
    {"conv_kernel_size", ConfigRow::Use::only_value, {}, 0},
    {"conv_act", ConfigRow::Use::harmless},
    {"legacy", ConfigRow::Use::harmless},
    {"pooler_dropout", ConfigRow::Use::harmless},
    {"pooler_hidden_size", ConfigRow::Use::harmless},
    {"pooler_hidden_act", ConfigRow::Use::only_text, "gelu"},
    {"DebertaV2ForSequenceClassification", ConfigRow::Use::of_class, "classifier.activation", 0, "gelu"},
};
constexpr auto kDebertaConfig = joined(kDebertaOwnConfig, kEncoderConfig, kLaterEncoderConfig);
constexpr std::string_view kDebertaBases[] = {"deberta."};
constexpr TensorRow kDebertaOwnTensors[] = {
    {"embeddings.token_type_embeddings.weight", "token_types.weight"},
    {"embeddings.embed_proj.weight", "token_embd_proj.weight"},
    {"encoder.rel_embeddings.weight", "rel_embd.weight"},
    {"encoder.LayerNorm.weight", "rel_embd_norm.weight"},
    {"encoder.LayerNorm.bias", "rel_embd_norm.bias"},
    {"encoder.layer.{}.attention.self.query_proj.weight", "blk.{}.attn_q.weight"},
    {"encoder.layer.{}.attention.self.query_proj.bias", "blk.{}.attn_q.bias"},
    {"encoder.layer.{}.attention.self.key_proj.weight", "blk.{}.attn_k.weight"},
    {"encoder.layer.{}.attention.self.key_proj.bias", "blk.{}.attn_k.bias"},
    {"encoder.layer.{}.attention.self.value_proj.weight", "blk.{}.attn_v.weight"},
    {"encoder.layer.{}.attention.self.value_proj.bias", "blk.{}.attn_v.bias"},
    {"encoder.layer.{}.attention.self.pos_key_proj.weight", "blk.{}.attn_pos_k.weight"},
    {"encoder.layer.{}.attention.self.pos_key_proj.bias", "blk.{}.attn_pos_k.bias"},
    {"encoder.layer.{}.attention.self.pos_query_proj.weight", "blk.{}.attn_pos_q.weight"},
    {"encoder.layer.{}.attention.self.pos_query_proj.bias", "blk.{}.attn_pos_q.bias"},
    // What predicts masked words takes no part in vectors of texts.
    {"lm_predictions.lm_head.bias", ""},
    {"lm_predictions.lm_head.dense.weight", ""},
    {"lm_predictions.lm_head.dense.bias", ""},
    {"lm_predictions.lm_head.LayerNorm.weight", ""},
    {"lm_predictions.lm_head.LayerNorm.bias", ""},
};
constexpr auto kDebertaTensors = joined(kDebertaOwnTensors, kAttentionOutputTensors, kMaskedWordTensors, kEncoderTensors);

}  // namespace

const Architecture kDebertaV2 = {
    .name = "deberta-v2",
    .models = "DeBERTa 2 and 3, mDeBERTa",
    .describe = describe_deberta,
    .activation = nn::ActivationKind::gelu,
    .encoder = true,
    .keys = kDebertaKeys,
    .hugging_face = {.classes = kDebertaClasses, .config = kDebertaConfig, .tensors = kDebertaTensors, .bases = kDebertaBases}};

}  // namespace wick
