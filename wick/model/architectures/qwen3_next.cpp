// Qwen3-Next and Qwen 3.5: three layers with a gated delta rule for each with attention, whose heads have gates (Qwen Team 2025). Norms
// are stored with an offset of 1.
#include <string>

#include "wick/model/architectures/expert_rows.h"
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

// What GGUF files leave out.
constexpr int64_t kAttentionInterval = 4;

DeltaRuleSpec delta_rule_of(const ModelConfig& config, bool interleaved) {
  const KeyReader& keys = config.keys;
  DeltaRuleSpec spec{.key_heads = keys.size("ssm.group_count"),
                     .value_heads = keys.size("ssm.time_step_rank"),
                     .key_dim = keys.size("ssm.state_size"),
                     .kernel = keys.size("ssm.conv_kernel"),
                     .interleaved = interleaved,
                     .norm_epsilon = config.norm_epsilon};
  const int64_t inner = keys.size("ssm.inner_size");
  const std::string heads = std::to_string(spec.value_heads) + " value heads";
  if (inner % spec.value_heads != 0) keys.fail_value("ssm.inner_size", std::to_string(inner), "want a multiple of the " + heads);
  if (spec.value_heads % spec.key_heads != 0)
    keys.fail_value("ssm.group_count", std::to_string(spec.key_heads), "it must divide the " + heads);
  if (spec.kernel < 2) keys.fail_value("ssm.conv_kernel", std::to_string(spec.kernel), "want at least 2 positions");
  spec.value_dim = inner / spec.value_heads;
  return spec;
}

DecoderSpec describe_delta_layers(ModelConfig config, bool interleaved) {
  config.drop_further_layers();
  const DeltaRuleSpec rule = delta_rule_of(config, interleaved);
  const ExpertsSpec experts = config.experts(Routing::softmax, config.keys.find_flag("expert_weights_normalized").value_or(true));
  const std::vector<bool> recurrent = config.recurrent_layers(kAttentionInterval);
  return config.decoder([&](int64_t layer) {
    PartSpec mixer{rule};
    if (!recurrent[static_cast<size_t>(layer)]) {
      AttentionSpec attention = config.attention(layer);
      attention.head_norms = HeadNorms::each_head;
      attention.gated = true;
      mixer = {attention};
    }
    return LayerSpec{{{.norm = config.norm("attn_norm"), .parts = {std::move(mixer)}},
                      {.norm = config.norm("post_attention_norm"), .parts = config.feed_forward_parts(layer, experts)}}};
  });
}

DecoderSpec describe_qwen3_next(const ModelConfig& config) { return describe_delta_layers(config, false); }
DecoderSpec describe_qwen35(const ModelConfig& config) { return describe_delta_layers(config, true); }

constexpr KeyRule kDeltaRuleKeys[] = {{"ssm.conv_kernel"},
                                      {"ssm.inner_size"},
                                      {"ssm.state_size"},
                                      {"ssm.time_step_rank"},
                                      {"ssm.group_count"},
                                      {"full_attention_interval"},
                                      {"attention.recurrent_layers"},
                                      {"nextn_predict_layers"},
                                      {"expert_weights_normalized"}};
constexpr KeyRule kSectionKeys[] = {{"rope.dimension_sections"}};
constexpr auto kQwen35Keys = joined(kDeltaRuleKeys, kSectionKeys);
constexpr ConfigRow kDeltaRuleConfig[] = {
    {"linear_conv_kernel_dim", ConfigRow::Use::read, "ssm.conv_kernel"},
    {"linear_key_head_dim", ConfigRow::Use::read, "ssm.state_size"},
    {"linear_num_key_heads", ConfigRow::Use::read, "ssm.group_count"},
    {"linear_num_value_heads", ConfigRow::Use::read, "ssm.time_step_rank"},
    {"linear_value_head_dim", ConfigRow::Use::read, "ssm.head_dim"},
    {"full_attention_interval", ConfigRow::Use::read, "full_attention_interval"},
    {"attn_output_gate", ConfigRow::Use::only_value, {}, 1},
    {"mamba_ssm_dtype", ConfigRow::Use::harmless},
    {"mtp_num_hidden_layers", ConfigRow::Use::harmless},  // their tensors are left out
    {"mtp_use_dedicated_embeddings", ConfigRow::Use::harmless},
};
constexpr auto kQwen3NextConfig = joined(kDeltaRuleConfig, kQwenExpertConfig, kQwenSharedExpertConfig);
constexpr TensorRow kDeltaRuleTensors[] = {
    {"model.layers.{}.post_attention_layernorm.weight", "blk.{}.post_attention_norm.weight"},
    {"model.layers.{}.linear_attn.conv1d.weight", "blk.{}.ssm_conv1d.weight", StoredForm::kernels},
    {"model.layers.{}.linear_attn.dt_bias", "blk.{}.ssm_dt.bias"},
    {"model.layers.{}.linear_attn.A_log", "blk.{}.ssm_a", StoredForm::minus_exp},
    {"model.layers.{}.linear_attn.norm.weight", "blk.{}.ssm_norm.weight"},
    {"model.layers.{}.linear_attn.out_proj.weight", "blk.{}.ssm_out.weight"},
};
constexpr TensorRow kExpertStackTensors[] = {
    {"model.layers.{}.mlp.experts.gate_up_proj", "blk.{}.ffn_gate_exps.weight", StoredForm::halves, "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.mlp.experts.down_proj", "blk.{}.ffn_down_exps.weight"},
};
constexpr TensorRow kQwen3NextOwnTensors[] = {
    {"model.layers.{}.linear_attn.in_proj_qkvz.weight", "blk.{}.attn_qkv.weight", StoredForm::query_key_value_gate,
     "blk.{}.attn_gate.weight"},
    {"model.layers.{}.linear_attn.in_proj_ba.weight", "blk.{}.ssm_ba.weight"},
};
constexpr auto kQwen3NextTensors = joined(kDeltaRuleTensors, kQwenExpertTensors, kExpertStackTensors, kQwen3NextOwnTensors);
constexpr TensorRow kQwen35OwnTensors[] = {
    {"model.layers.{}.linear_attn.in_proj_qkv.weight", "blk.{}.attn_qkv.weight"},
    {"model.layers.{}.linear_attn.in_proj_z.weight", "blk.{}.attn_gate.weight"},
    {"model.layers.{}.linear_attn.in_proj_b.weight", "blk.{}.ssm_beta.weight"},
    {"model.layers.{}.linear_attn.in_proj_a.weight", "blk.{}.ssm_alpha.weight"},
};
constexpr auto kQwen35Tensors = joined(kDeltaRuleTensors, kQwen35OwnTensors);
constexpr auto kQwen35MoeTensors = joined(kDeltaRuleTensors, kQwenExpertTensors, kExpertStackTensors, kQwen35OwnTensors);

constexpr std::string_view kQwen3NextClasses[] = {"Qwen3NextForCausalLM"};
constexpr std::string_view kQwen35Classes[] = {"Qwen3_5ForCausalLM"};
constexpr std::string_view kQwen35MoeClasses[] = {"Qwen3_5MoeForCausalLM"};
constexpr double kRotaryShare = 0.25;

}  // namespace

const Architecture kQwen3Next = {.name = "qwen3next",
                                 .models = "Qwen3-Next 80B-A3B, Qwen3-Coder-Next",
                                 .describe = describe_qwen3_next,
                                 .experts = true,
                                 .recurrent = true,
                                 .keys = kDeltaRuleKeys,
                                 .hugging_face = {.classes = kQwen3NextClasses,
                                                  .config = kQwen3NextConfig,
                                                  .tensors = kQwen3NextTensors,
                                                  .norm_offset = 1,
                                                  .ignore_mtp_layers = true,
                                                  .usual_rotary_factor = kRotaryShare}};
const Architecture kQwen35 = {.name = "qwen35",
                              .models = "Qwen 3.5, Qwen 3.6 (dense, text)",
                              .describe = describe_qwen35,
                              .recurrent = true,
                              .keys = kQwen35Keys,
                              .wants_sections = true,
                              .hugging_face = {.classes = kQwen35Classes,
                                               .config = kDeltaRuleConfig,
                                               .tensors = kQwen35Tensors,
                                               .norm_offset = 1,
                                               .ignore_mtp_layers = true,
                                               .interleaves_value_heads = true,
                                               .usual_rotary_factor = kRotaryShare}};
const Architecture kQwen35Moe = {.name = "qwen35moe",
                                 .models = "Qwen 3.5, Qwen 3.6 (with experts, text)",
                                 .describe = describe_qwen35,
                                 .experts = true,
                                 .recurrent = true,
                                 .keys = kQwen35Keys,
                                 .wants_sections = true,
                                 .hugging_face = {.classes = kQwen35MoeClasses,
                                                  .config = kQwen3NextConfig,
                                                  .tensors = kQwen35MoeTensors,
                                                  .norm_offset = 1,
                                                  .ignore_mtp_layers = true,
                                                  .interleaves_value_heads = true,
                                                  .usual_rotary_factor = kRotaryShare}};

}  // namespace wick
