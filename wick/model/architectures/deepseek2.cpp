// DeepSeek V2 and V3, Kimi K2: latent attention, and experts behind some dense layers (DeepSeek-AI 2024). V2 chooses by a softmax, V3 by
// sigmoids with a bias that balances the load.
#include <cmath>

#include "wick/formats/printable.h"
#include "wick/model/architectures/expert_rows.h"
#include "wick/model/architectures/latent_attention_rows.h"
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_deepseek2(const ModelConfig& config) {
  ModelConfig own = config;
  own.drop_further_layers();
  const LatentAttentionSpec attention = own.latent_attention();
  const ExpertsSpec experts = own.experts(Routing::softmax, own.normalizes_experts(false));
  const std::string_view choice = own.keys.find_text("expert_choice").value_or("noaux_tc");
  if (choice != "greedy" && choice != "group_limited_greedy" && choice != "noaux_tc") {
    own.keys.fail_value("expert_choice", printable(choice), "this version knows greedy, group_limited_greedy and noaux_tc");
  }
  const bool scores_scaled = own.keys.find_number("rope.scaling.yarn_log_multiplier").value_or(0) != 0;
  if (own.rope.scaling == RopeScaling::yarn && scores_scaled) own.rope.attention_factor = 1 / (1 + 0.1 * std::log(own.rope.factor));
  return own.decoder([&](int64_t layer) {
    return LayerSpec{{{.norm = own.norm("attn_norm"), .parts = {{attention}}},
                      {.norm = own.norm("ffn_norm"), .parts = own.feed_forward_parts(layer, experts)}}};
  });
}

constexpr KeyRule kDeepSeek2Keys[] = {
    {"expert_choice"},          {"leading_dense_block_count"}, {"nextn_predict_layers"},       {"attention.q_lora_rank"},
    {"attention.kv_lora_rank"}, {kLatentNormEpsilon}, {"attention.key_length_mla"},  {"attention.value_length_mla"}, {"rope.scaling.yarn_log_multiplier"}};
constexpr std::string_view kDeepSeek2Classes[] = {"DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "Glm4MoeLiteForCausalLM"};
constexpr ConfigRow kDeepSeek2OwnConfig[] = {
    {"rope_interleave", ConfigRow::Use::only_value, {}, 1},
    {"n_routed_experts", ConfigRow::Use::read, "expert_count"},
    {"n_shared_experts", ConfigRow::Use::read, "expert_shared_count"},
    {"first_k_dense_replace", ConfigRow::Use::read, "leading_dense_block_count"},
    {"moe_layer_freq", ConfigRow::Use::only_value, {}, 1},
    {"num_nextn_predict_layers", ConfigRow::Use::harmless},          // their layers are dropped
    {"scoring_func", ConfigRow::Use::only_text, "softmax sigmoid"},  // the class says which
    {"topk_method", ConfigRow::Use::read, "expert_choice"},
    {"DeepseekV2ForCausalLM", ConfigRow::Use::of_class, "expert_gating_func", 1},
    {"DeepseekV3ForCausalLM", ConfigRow::Use::of_class, "expert_gating_func", 2},
    {"DeepseekV2ForCausalLM", ConfigRow::Use::of_class, kLatentNormEpsilon, 1e-6},
    {"DeepseekV3ForCausalLM", ConfigRow::Use::of_class, kLatentNormEpsilon, 1e-6},
    {"Glm4MoeLiteForCausalLM", ConfigRow::Use::of_class, kLatentNormEpsilon, 1e-6},
    {"mlp_layer_types", ConfigRow::Use::harmless},  // the tensors tell
    {"Glm4MoeLiteForCausalLM", ConfigRow::Use::of_class, "expert_gating_func", 2},
};
constexpr auto kDeepSeek2Config = joined(kDeepSeek2OwnConfig, kLatentAttentionConfig, kRoutingConfig);
constexpr TensorRow kDeepSeek2OwnTensors[] = {
    {"model.layers.{}.self_attn.q_a_proj.bias", "blk.{}.attn_q_a.bias"},
    {"model.layers.{}.self_attn.kv_a_proj_with_mqa.bias", "blk.{}.attn_kv_a_mqa.bias"},
    {"model.layers.{}.self_attn.kv_b_proj.weight", "blk.{}.attn_kv_b.weight"},
};
constexpr auto kDeepSeek2Tensors = joined(kDeepSeek2OwnTensors, kLatentAttentionTensors, kRoutedExpertTensors);

}  // namespace

const Architecture kDeepSeek2 = {.name = "deepseek2",
                                 .models = "DeepSeek V2 and V2 Lite, DeepSeek V3 and R1, Kimi K2, GLM 4.7 Flash",
                                 .describe = describe_deepseek2,
                                 .gguf_rope = RopeStyle::interleaved,
                                 .experts = true,
                                 .keys = kDeepSeek2Keys,
                                 .hugging_face = {.classes = kDeepSeek2Classes,
                                                  .config = kDeepSeek2Config,
                                                  .tensors = kDeepSeek2Tensors,
                                                  .rope = RopeStyle::interleaved,
                                                  .ignore_mtp_layers = true,
                                                  .yarn_log_unit = 0.1}};

}  // namespace wick
