// Kimi Linear: three layers with a gated delta rule whose channels decay by themselves for each with latent attention, which knows no
// positions; experts after the first layers (Kimi Team 2025).
#include <string>

#include "wick/model/architectures/expert_rows.h"
#include "wick/model/architectures/latent_attention_rows.h"
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_kimi_linear(const ModelConfig& config) {
  ModelConfig own = config;
  own.drop_further_layers();
  const KeyReader& keys = own.keys;
  const int64_t heads = keys.size_or("kda.head_count", own.heads), head_dim = keys.size("kda.head_dim");
  const DeltaRuleSpec rule{.key_heads = heads,
                           .value_heads = heads,
                           .key_dim = head_dim,
                           .value_dim = head_dim,
                           .kernel = keys.size("ssm.conv_kernel"),
                           .by_channel = true,
                           .norm_epsilon = own.norm_epsilon};
  if (rule.kernel < 2) keys.fail_value("ssm.conv_kernel", std::to_string(rule.kernel), "want at least 2 positions");
  LatentAttentionSpec attention = own.latent_attention();
  attention.rotates = false;
  const ExpertsSpec experts = own.experts(Routing::sigmoid, own.normalizes_experts(true));
  return own.decoder([&](int64_t layer) {
    const PartSpec mixer = own.attends(layer) ? PartSpec{attention} : PartSpec{rule};
    return LayerSpec{{{.norm = own.norm("attn_norm"), .parts = {mixer}},
                      {.norm = own.norm("ffn_norm"), .parts = own.feed_forward_parts(layer, experts)}}};
  });
}

constexpr KeyRule kKimiLinearKeys[] = {{"leading_dense_block_count"},
                                       {"nextn_predict_layers"},
                                       {"attention.q_lora_rank"},
                                       {"attention.kv_lora_rank"},
                                       {kLatentNormEpsilon},
                                       {"attention.key_length_mla"},
                                       {"attention.value_length_mla"},
                                       {"kda.head_dim"},
                                       {"kda.head_count"},
                                       {"ssm.conv_kernel"}};
constexpr std::string_view kKimiLinearClasses[] = {"KimiLinearForCausalLM"};
constexpr ConfigRow kKimiLinearOwnConfig[] = {
    {"model_max_length", ConfigRow::Use::read, "context_length"},
    {"mla_use_nope", ConfigRow::Use::only_value, {}, 1},
    {"linear_attn_config.head_dim", ConfigRow::Use::read, "kda.head_dim"},
    {"linear_attn_config.num_heads", ConfigRow::Use::read, "kda.head_count"},
    {"linear_attn_config.short_conv_kernel_size", ConfigRow::Use::read, "ssm.conv_kernel"},
    {"linear_attn_config.full_attn_layers", ConfigRow::Use::harmless},  // read with the kinds of layers
    {"linear_attn_config.kda_layers", ConfigRow::Use::harmless},        // those that are not there
    {"linear_head_dim", ConfigRow::Use::read, "kda.head_dim"},
    {"linear_num_heads", ConfigRow::Use::read, "kda.head_count"},
    {"linear_conv_kernel_dim", ConfigRow::Use::read, "ssm.conv_kernel"},
    {"num_experts", ConfigRow::Use::read, "expert_count"},
    {"num_experts_per_token", ConfigRow::Use::read, "expert_used_count"},
    {"num_shared_experts", ConfigRow::Use::read, "expert_shared_count"},
    {"num_expert_group", ConfigRow::Use::read, "expert_group_count"},
    {"moe_renormalize", ConfigRow::Use::read, "expert_weights_norm"},
    {"moe_router_activation_func", ConfigRow::Use::only_text, "sigmoid"},
    {"use_grouped_topk", ConfigRow::Use::only_value, {}, 1},
    {"moe_layer_freq", ConfigRow::Use::only_value, {}, 1},
    {"first_k_dense_replace", ConfigRow::Use::read, "leading_dense_block_count"},
    {"mlp_layer_types", ConfigRow::Use::harmless},           // the tensors tell
    {"num_nextn_predict_layers", ConfigRow::Use::harmless},  // their layers are dropped
    {"KimiLinearForCausalLM", ConfigRow::Use::of_class, "expert_gating_func", 2},
    {"KimiLinearForCausalLM", ConfigRow::Use::of_class, "attention.layer_norm_rms_epsilon", 1e-5},
};
constexpr auto kKimiLinearConfig = joined(kKimiLinearOwnConfig, kLatentAttentionConfig, kRoutingConfig);
constexpr TensorRow kKimiLinearOwnTensors[] = {
    {"model.layers.{}.self_attn.q_conv1d.weight", "blk.{}.ssm_conv1d_q.weight"},
    {"model.layers.{}.self_attn.k_conv1d.weight", "blk.{}.ssm_conv1d_k.weight"},
    {"model.layers.{}.self_attn.v_conv1d.weight", "blk.{}.ssm_conv1d_v.weight"},
    {"model.layers.{}.self_attn.A_log", "blk.{}.ssm_a", StoredForm::minus_exp_column},
    {"model.layers.{}.self_attn.dt_bias", "blk.{}.ssm_dt.bias"},
    {"model.layers.{}.self_attn.b_proj.weight", "blk.{}.ssm_beta.weight"},
    {"model.layers.{}.self_attn.f_a_proj.weight", "blk.{}.ssm_f_a.weight"},
    {"model.layers.{}.self_attn.f_b_proj.weight", "blk.{}.ssm_f_b.weight"},
    {"model.layers.{}.self_attn.g_a_proj.weight", "blk.{}.ssm_g_a.weight"},
    {"model.layers.{}.self_attn.g_b_proj.weight", "blk.{}.ssm_g_b.weight"},
    {"model.layers.{}.self_attn.o_norm.weight", "blk.{}.ssm_norm.weight"},
    {"model.layers.{}.self_attn.kv_b_proj.weight", "blk.{}.attn_k_b.weight", StoredForm::latent_heads, "blk.{}.attn_v_b.weight"},
    {"model.layers.{}.block_sparse_moe.gate.weight", "blk.{}.ffn_gate_inp.weight"},
    {"model.layers.{}.block_sparse_moe.gate.e_score_correction_bias", "blk.{}.exp_probs_b.bias"},
    {"model.layers.{}.block_sparse_moe.experts.{}.w1.weight", "blk.{}.ffn_gate_exps.weight"},
    {"model.layers.{}.block_sparse_moe.experts.{}.w2.weight", "blk.{}.ffn_down_exps.weight"},
    {"model.layers.{}.block_sparse_moe.experts.{}.w3.weight", "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.block_sparse_moe.shared_experts.gate_proj.weight", "blk.{}.ffn_gate_shexp.weight"},
    {"model.layers.{}.block_sparse_moe.shared_experts.up_proj.weight", "blk.{}.ffn_up_shexp.weight"},
    {"model.layers.{}.block_sparse_moe.shared_experts.down_proj.weight", "blk.{}.ffn_down_shexp.weight"},
    // Of layers without experts, as transformers 5 saves them.
    {"model.layers.{}.block_sparse_moe.gate_proj.weight", "blk.{}.ffn_gate.weight"},
    {"model.layers.{}.block_sparse_moe.up_proj.weight", "blk.{}.ffn_up.weight"},
    {"model.layers.{}.block_sparse_moe.down_proj.weight", "blk.{}.ffn_down.weight"},
};
constexpr auto kKimiLinearTensors = joined(kKimiLinearOwnTensors, kLatentAttentionTensors);

}  // namespace

const Architecture kKimiLinear = {.name = "kimi-linear",
                                  .models = "Kimi Linear 48B-A3B",
                                  .describe = describe_kimi_linear,
                                  .experts = true,
                                  .recurrent = true,
                                  .keys = kKimiLinearKeys,
                                  .hugging_face = {.classes = kKimiLinearClasses,
                                                   .config = kKimiLinearConfig,
                                                   .tensors = kKimiLinearTensors,
                                                   .ignore_mtp_layers = true,
                                                   .splits_latent_heads = true}};

}  // namespace wick
