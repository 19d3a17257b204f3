// Nemotron-H: each layer is one thing alone, Mamba 2, attention without positions, or a feed-forward part, which in Nemotron 3 has experts
// (NVIDIA 2025).
#include "wick/model/architectures/expert_rows.h"
#include "wick/model/architectures/rows.h"
#include "wick/model/architectures/state_space_rows.h"

namespace wick {
namespace {

DecoderSpec describe_nemotron_h(const ModelConfig& config) {
  ModelConfig own = config;
  own.drop_further_layers();
  const StateSpaceSpec space = own.state_space();
  ExpertsSpec experts = own.experts(Routing::sigmoid, own.normalizes_experts(true));
  experts.gated = false;
  experts.activation = own.activation;
  if (own.keys.find_positive_or_zero("moe_latent_size")) experts.latent = own.keys.size("moe_latent_size");
  return own.decoder([&](int64_t layer) {
    std::vector<PartSpec> parts = {{space}};
    if (own.attends(layer)) {
      AttentionSpec attention = own.attention(layer);
      attention.rope = -1;
      parts = {{attention}};
    } else if (own.feeds_forward(layer)) {
      parts = own.feed_forward_parts(layer, experts);
    }
    return LayerSpec{{{.norm = own.norm("attn_norm"), .parts = std::move(parts)}}};
  });
}

constexpr KeyRule kNemotronHOwnKeys[] = {{"ssm.time_step_min"}, {"moe_latent_size"}, {"nextn_predict_layers"}};
constexpr auto kNemotronHKeys = joined(kStateSpaceKeys, kNemotronHOwnKeys);
constexpr WantedKey kNemotronHWanted[] = {{"attention.layer_norm_epsilon", {"attention.layer_norm_rms_epsilon"}}};
constexpr std::string_view kNemotronHClasses[] = {"NemotronHForCausalLM"};
constexpr ConfigRow kNemotronHOwnConfig[] = {
    {"attention_head_dim", ConfigRow::Use::read, "attention.key_length"},
    {"mlp_hidden_act", ConfigRow::Use::read, "hidden_act"},
    {"mamba_hidden_act", ConfigRow::Use::only_text, "silu swish"},
    {"mamba_num_heads", ConfigRow::Use::read, "ssm.time_step_rank"},
    {"mamba_head_dim", ConfigRow::Use::read, "ssm.head_dim"},
    {"ssm_state_size", ConfigRow::Use::read, "ssm.state_size"},
    {"mamba_proj_bias", ConfigRow::Use::only_value},
    {"layers_block_type", ConfigRow::Use::harmless},        // read with the kinds of layers
    {"hybrid_override_pattern", ConfigRow::Use::harmless},  // the same
    {"mtp_layers_block_type", ConfigRow::Use::harmless},
    {"num_nextn_predict_layers", ConfigRow::Use::harmless},  // their layers are left out
    {"mamba_ssm_cache_dtype", ConfigRow::Use::harmless},
    {"use_mamba_kernels", ConfigRow::Use::harmless},
    {"num_logits_to_keep", ConfigRow::Use::harmless},
    {"time_step_min", ConfigRow::Use::read, "ssm.time_step_min"},
    {"norm_eps", ConfigRow::Use::harmless},  // layer_norm_epsilon counts
    // Read with the kinds of layers, as all keys of experts where a layer has them; kRoutingConfig has others.
    {"moe_shared_expert_intermediate_size", ConfigRow::Use::read, "expert_shared_feed_forward_length"},
    {"moe_shared_expert_overlap", ConfigRow::Use::harmless},  // when it is computed
    {"moe_latent_size", ConfigRow::Use::read, "moe_latent_size"},
    {"n_routed_experts", ConfigRow::Use::read, "expert_count"},
    {"n_shared_experts", ConfigRow::Use::read, "expert_shared_count"},
    {"NemotronHForCausalLM", ConfigRow::Use::of_class, "attention.layer_norm_rms_epsilon", 1e-5},
};
constexpr TensorRow kNemotronHOwnTensors[] = {
    {"backbone.layers.{}.mixer.q_proj.weight", "blk.{}.attn_q.weight"},
    {"backbone.layers.{}.mixer.k_proj.weight", "blk.{}.attn_k.weight"},
    {"backbone.layers.{}.mixer.v_proj.weight", "blk.{}.attn_v.weight"},
    {"backbone.layers.{}.mixer.o_proj.weight", "blk.{}.attn_output.weight"},
    {"backbone.layers.{}.mixer.up_proj.weight", "blk.{}.ffn_up.weight"},
    {"backbone.layers.{}.mixer.down_proj.weight", "blk.{}.ffn_down.weight"},
    {"backbone.layers.{}.mixer.gate.weight", "blk.{}.ffn_gate_inp.weight"},
    {"backbone.layers.{}.mixer.gate.e_score_correction_bias", "blk.{}.exp_probs_b.bias"},
    {"backbone.layers.{}.mixer.experts.{}.up_proj.weight", "blk.{}.ffn_up_exps.weight"},
    {"backbone.layers.{}.mixer.experts.{}.down_proj.weight", "blk.{}.ffn_down_exps.weight"},
    {"backbone.layers.{}.mixer.shared_experts.up_proj.weight", "blk.{}.ffn_up_shexp.weight"},
    {"backbone.layers.{}.mixer.shared_experts.down_proj.weight", "blk.{}.ffn_down_shexp.weight"},
    {"backbone.layers.{}.mixer.fc1_latent_proj.weight", "blk.{}.ffn_latent_down.weight"},
    {"backbone.layers.{}.mixer.fc2_latent_proj.weight", "blk.{}.ffn_latent_up.weight"},
};
constexpr auto kNemotronHConfig = joined(kMixerConfig, kRoutingConfig, kNemotronHOwnConfig);
constexpr auto kNemotronHTensors = joined(kMixerTensors, kNemotronHOwnTensors);

}  // namespace

const Architecture kNemotronH = {
    .name = "nemotron_h",
    .models = "Nemotron-H, Nemotron Nano 2; folders of Nemotron 3",
    .describe = describe_nemotron_h,
    .activation = nn::ActivationKind::relu2,
    .experts = true,
    .recurrent = true,
    .keys = kNemotronHKeys,
    .wanted = kNemotronHWanted,
    .hugging_face = {.classes = kNemotronHClasses, .config = kNemotronHConfig, .tensors = kNemotronHTensors, .ignore_mtp_layers = true}};
// The same, by the name of GGUF files with experts.
const Architecture kNemotronHMoe = {.name = "nemotron_h_moe",
                                    .models = "Nemotron 3 Nano and Super",
                                    .describe = describe_nemotron_h,
                                    .activation = nn::ActivationKind::relu2,
                                    .experts = true,
                                    .recurrent = true,
                                    .keys = kNemotronHKeys,
                                    .wanted = kNemotronHWanted};

}  // namespace wick
