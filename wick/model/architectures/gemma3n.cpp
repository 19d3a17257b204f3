// Gemma 3n's text model: Gemma 3's layers with several alternating residual streams, a low-rank part beside attention (LAuReL, Menghani et
// al. 2024), inputs of each token for each layer, and last layers that attend to the keys and values of others (Gemma Team 2025).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "wick/model/architectures/gemma_layers.h"
#include "wick/model/architectures/rows.h"
#include "wick/model/mixers/mixer.h"

namespace wick {
namespace {

// What GGUF files leave out.
constexpr int64_t kLayersWithOwnCache = 20;
constexpr int64_t kLocalLayers = 5;
constexpr double kLogitCap = 30;

// x + norm(right(left(x))).
class LowRankMixer final : public Mixer {
 public:
  LowRankMixer(WeightReader& weights, const std::string& prefix, int64_t hidden_size, float epsilon)
      : rank_(std::max<int64_t>(weights.rows_of(prefix + "laurel_l.weight"), 1)),
        left_(weights.matrix(prefix + "laurel_l", rank_, hidden_size)),
        right_(weights.matrix(prefix + "laurel_r", hidden_size, rank_)),
        norm_(NormSpec{.name = "laurel_post_norm", .epsilon = epsilon}, weights, prefix, hidden_size) {}

  [[nodiscard]] Tensor forward(const Tensor& normed, const MixerContext& context) const override {
    const auto product = [&](const ScaledMatrix& matrix, const Tensor& x) {
      context.show_input({matrix.name}, x);
      return context.product(matrix, x);
    };
    return normed + norm_(product(right_, product(left_, normed)));
  }
  [[nodiscard]] std::vector<const ScaledMatrix*> matrices() const override { return {&left_, &right_}; }
  [[nodiscard]] std::vector<ScaledMatrix*> adaptable() override { return {&left_, &right_}; }

 private:
  int64_t rank_;
  ScaledMatrix left_, right_;
  Norm norm_;
};

// Of each layer; empty where the file does not say.
std::vector<float> cutoffs_of(const ModelConfig& config) {
  const char* const name = "activation_sparsity_scale";
  const GgufArray* scales = config.keys.checkpoint().find_array(config.keys.key(name));
  if (scales == nullptr) return {};
  if (scales->element_type == GgufType::string || scales->element_type == GgufType::array ||
      std::cmp_not_equal(scales->size, config.layers))
    config.keys.fail_value(name, fmt::format("{} values", scales->size),
                           fmt::format("want a number for each of the {} layers", config.layers));
  return scales->to_vector<float>();
}

DecoderSpec describe_gemma3n(const ModelConfig& given) {
  const ModelConfig config = with_local_layers(given, kLocalLayers);
  const KeyReader& keys = config.keys;
  const std::vector<float> cutoffs = cutoffs_of(config);
  const int64_t shared = shared_layers(config, std::max<int64_t>(config.layers - kLayersWithOwnCache, 0));
  DecoderSpec spec = config.decoder([&](int64_t layer) {
    FeedForwardSpec feed_forward = config.feed_forward(layer);
    if (!cutoffs.empty() && std::isfinite(cutoffs[static_cast<size_t>(layer)])) feed_forward.cutoff = cutoffs[static_cast<size_t>(layer)];
    const OwnSpec low_rank{.name = "low-rank residual",
                           .build = [hidden = config.hidden_size, epsilon = config.norm_epsilon](WeightReader& weights, int64_t index) {
                             return std::make_unique<LowRankMixer>(weights, fmt::format("blk.{}.", index), hidden, epsilon);
                           }};
    const PartSpec attention{.mixer = gemma_attention(config, layer, config.layers - shared),
                             .post_norm = config.norm("post_attention_norm")};
    return LayerSpec{{{.norm = config.norm("attn_norm"), .parts = {attention, {low_rank}}, .sum_scale = static_cast<float>(std::sqrt(0.5))},
                      {.norm = config.norm("ffn_norm"), .parts = {{feed_forward}}, .post_norm = config.norm("post_ffw_norm")}}};
  });
  add_local_rope(spec, config);
  leave_out_shared(spec, config.layers - shared);
  const int64_t width = keys.size("embedding_length_per_layer_input");
  spec.layer_inputs = {.width = width, .norm_epsilon = config.norm_epsilon};
  spec.alternating = {.streams = keys.size("altup.num_inputs"),
                      .active = static_cast<int64_t>(keys.find_number("altup.active_idx").value_or(0)),
                      .layer_input = {.width = width, .activation = config.activation},
                      .norm_epsilon = config.norm_epsilon};
  const AlternatingSpec& streams = *spec.alternating;
  if (streams.streams < 2) keys.fail_value("altup.num_inputs", std::to_string(streams.streams), "want at least 2");
  if (streams.active < 0 || streams.active >= streams.streams) {
    keys.fail_value("altup.active_idx", std::to_string(streams.active), fmt::format("there are {} streams", streams.streams));
  }
  spec.embedding_scale = std::sqrt(static_cast<float>(config.hidden_size));
  spec.logit_softcap = config.cap_or("final_logit_softcapping", kLogitCap);
  return spec;
}

constexpr KeyRule kGemma3nOwnKeys[] = {{"altup.num_inputs"}, {"altup.active_idx"}, {"activation_sparsity_scale"}};
constexpr auto kGemma3nKeys = joined(kGemmaLayerKeys, kGemma3nOwnKeys);
constexpr std::string_view kGemma3nClasses[] = {"Gemma3nForCausalLM"};
constexpr ConfigRow kGemma3nOwnConfig[] = {
    {"altup_num_inputs", ConfigRow::Use::read, "altup.num_inputs"},
    {"altup_active_idx", ConfigRow::Use::read, "altup.active_idx"},
    {"altup_coef_clip", ConfigRow::Use::harmless},  // training's
    {"altup_correct_scale", ConfigRow::Use::only_value, {}, 1},
    {"altup_lr_multiplier", ConfigRow::Use::harmless},
    {"laurel_rank", ConfigRow::Use::harmless},                  // the tensors tell
    {"activation_sparsity_pattern", ConfigRow::Use::harmless},  // read with the layers
};
constexpr auto kGemma3nConfig = joined(kGemmaLayerConfig, kGemma3nOwnConfig);
constexpr TensorRow kGemma3nOwnTensors[] = {
    {"model.altup_projections.{}.weight", "altup_proj.weight"},
    {"model.altup_unembed_projections.{}.weight", "altup_unembd_proj.weight"},
    {"model.layers.{}.laurel.linear_left.weight", "blk.{}.laurel_l.weight"},
    {"model.layers.{}.laurel.linear_right.weight", "blk.{}.laurel_r.weight"},
    {"model.layers.{}.laurel.post_laurel_norm.weight", "blk.{}.laurel_post_norm.weight"},
    {"model.layers.{}.altup.modality_router.weight", "blk.{}.altup_router.weight"},
    {"model.layers.{}.altup.router_norm.weight", "blk.{}.altup_router_norm.weight"},
    {"model.layers.{}.altup.prediction_coefs.weight", "blk.{}.altup_predict_coef.weight"},
    {"model.layers.{}.altup.correction_coefs.weight", "blk.{}.altup_correct_coef.weight"},
    {"model.layers.{}.altup.correct_output_scale", "blk.{}.altup_correct_scale.weight"},
};
constexpr auto kGemma3nTensors = joined(kGemmaLayerTensors, kGemma3nOwnTensors);

}  // namespace

const Architecture kGemma3n = {
    .name = "gemma3n",
    .models = "Gemma 3n (text)",
    .describe = describe_gemma3n,
    .activation = nn::ActivationKind::gelu_pytorch_tanh,
    .keys = kGemma3nKeys,
    .hugging_face = {.classes = kGemma3nClasses, .config = kGemma3nConfig, .tensors = kGemma3nTensors, .tied_by_default = true}};

}  // namespace wick
