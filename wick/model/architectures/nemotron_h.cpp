// Nemotron-H: each layer is one thing alone, Mamba 2, attention without positions, or a feed-forward part (NVIDIA 2025).
#include "wick/model/architectures/rows.h"
#include "wick/model/architectures/state_space_rows.h"

namespace wick {
namespace {

DecoderSpec describe_nemotron_h(const ModelConfig& config) {
  const StateSpaceSpec space = config.state_space();
  return config.decoder([&](int64_t layer) {
    PartSpec part{space};
    if (config.attends(layer)) {
      AttentionSpec attention = config.attention(layer);
      attention.rope = -1;
      part = {attention};
    } else if (config.feeds_forward(layer)) {
      part = {config.ungated_feed_forward(layer)};
    }
    return LayerSpec{{{.norm = config.norm("attn_norm"), .parts = {std::move(part)}}}};
  });
}

constexpr KeyRule kNemotronHOwnKeys[] = {{"ssm.time_step_min"}};
constexpr auto kNemotronHKeys = joined(kStateSpaceKeys, kNemotronHOwnKeys);
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
    {"num_nextn_predict_layers", ConfigRow::Use::only_value},
    {"mamba_ssm_cache_dtype", ConfigRow::Use::harmless},
    {"use_mamba_kernels", ConfigRow::Use::harmless},
    {"num_logits_to_keep", ConfigRow::Use::harmless},
    {"time_step_min", ConfigRow::Use::read, "ssm.time_step_min"},
    // Of layers with experts, which are refused as a kind of layer.
    {"moe_intermediate_size", ConfigRow::Use::harmless},
    {"moe_shared_expert_intermediate_size", ConfigRow::Use::harmless},
    {"moe_shared_expert_overlap", ConfigRow::Use::harmless},
    {"moe_latent_size", ConfigRow::Use::harmless},
    {"n_routed_experts", ConfigRow::Use::harmless},
    {"n_shared_experts", ConfigRow::Use::harmless},
    {"num_experts_per_tok", ConfigRow::Use::harmless},
    {"n_group", ConfigRow::Use::harmless},
    {"topk_group", ConfigRow::Use::harmless},
    {"norm_topk_prob", ConfigRow::Use::harmless},
    {"routed_scaling_factor", ConfigRow::Use::harmless},
    {"NemotronHForCausalLM", ConfigRow::Use::of_class, "attention.layer_norm_rms_epsilon", 1e-5},
};
constexpr TensorRow kNemotronHOwnTensors[] = {
    {"backbone.layers.{}.mixer.q_proj.weight", "blk.{}.attn_q.weight"},
    {"backbone.layers.{}.mixer.k_proj.weight", "blk.{}.attn_k.weight"},
    {"backbone.layers.{}.mixer.v_proj.weight", "blk.{}.attn_v.weight"},
    {"backbone.layers.{}.mixer.o_proj.weight", "blk.{}.attn_output.weight"},
    {"backbone.layers.{}.mixer.up_proj.weight", "blk.{}.ffn_up.weight"},
    {"backbone.layers.{}.mixer.down_proj.weight", "blk.{}.ffn_down.weight"},
};
constexpr auto kNemotronHConfig = joined(kMixerConfig, kNemotronHOwnConfig);
constexpr auto kNemotronHTensors = joined(kMixerTensors, kNemotronHOwnTensors);

}  // namespace

const Architecture kNemotronH = {.name = "nemotron_h",
                                 .models = "Nemotron-H, Nemotron Nano 2 (without experts)",
                                 .describe = describe_nemotron_h,
                                 .activation = nn::ActivationKind::relu2,
                                 .recurrent = true,
                                 .keys = kNemotronHKeys,
                                 .hugging_face = {.classes = kNemotronHClasses, .config = kNemotronHConfig, .tensors = kNemotronHTensors}};

}  // namespace wick
