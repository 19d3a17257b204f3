// Mamba (Gu & Dao 2023), Falcon Mamba, which normalizes steps, columns and reads (TII 2024), and Jamba, whose layers are Mamba's or attend
// without positions, and some of which have experts (AI21 2024).
#include "wick/model/architectures/rows.h"
#include "wick/model/architectures/state_space_rows.h"

namespace wick {
namespace {

DecoderSpec describe_mamba(const ModelConfig& config) {
  const SelectiveScanSpec scan = config.selective_scan();
  DecoderSpec spec = config.decoder([&](int64_t) { return LayerSpec{{{.norm = config.norm("attn_norm"), .parts = {{scan}}}}}; });
  spec.ropes.clear();
  return spec;
}

DecoderSpec describe_jamba(const ModelConfig& config) {
  const SelectiveScanSpec scan = config.selective_scan();
  const ExpertsSpec experts = config.experts(Routing::softmax, false);
  return config.decoder([&](int64_t layer) {
    PartSpec mixer{scan};
    if (config.attends(layer)) {
      AttentionSpec attention = config.attention(layer);
      attention.rope = -1;
      mixer = {attention};
    }
    return LayerSpec{{{.norm = config.norm("attn_norm"), .parts = {std::move(mixer)}},
                      {.norm = config.norm("ffn_norm"), .parts = config.feed_forward_parts(layer, experts)}}};
  });
}

constexpr KeyRule kScanKeys[] = {{"ssm.conv_kernel"},    {"ssm.inner_size"}, {"ssm.state_size"},
                                 {"ssm.time_step_rank"}, {"ssm.dt_b_c_rms"}, {"ssm.dt_b_c_rms_epsilon"}};

constexpr std::string_view kMambaClasses[] = {"MambaForCausalLM", "FalconMambaForCausalLM"};
constexpr ConfigRow kScanConfig[] = {
    {"state_size", ConfigRow::Use::read, "ssm.state_size"},
    {"time_step_rank", ConfigRow::Use::harmless},  // read with the inner size
    {"intermediate_size", ConfigRow::Use::harmless},
    {"hidden_act", ConfigRow::Use::only_text, "silu swish"},
    {"time_step_min", ConfigRow::Use::harmless},  // of the first values
    {"time_step_scale", ConfigRow::Use::harmless},
    {"time_step_init_scheme", ConfigRow::Use::harmless},
    {"use_mambapy", ConfigRow::Use::harmless},
    {"use_falcon_mambapy", ConfigRow::Use::harmless},
    {"use_associative_scan", ConfigRow::Use::harmless},
    {"mixer_rms_eps", ConfigRow::Use::read, "ssm.dt_b_c_rms_epsilon"},
    {"MambaForCausalLM", ConfigRow::Use::of_class, "context_length", 1 << 20},
    {"MambaForCausalLM", ConfigRow::Use::of_class, "attention.layer_norm_rms_epsilon", 1e-5},
    {"FalconMambaForCausalLM", ConfigRow::Use::of_class, "context_length", 1 << 20},
    {"FalconMambaForCausalLM", ConfigRow::Use::of_class, "attention.layer_norm_rms_epsilon", 1e-5},
    {"FalconMambaForCausalLM", ConfigRow::Use::of_class, "ssm.dt_b_c_rms_epsilon", 1e-6},
    {"FalconMambaForCausalLM", ConfigRow::Use::flag_of_class, "ssm.dt_b_c_rms", 1},
};
constexpr auto kMambaOwnConfig = joined(kScanConfig, kMixerConfig);
constexpr TensorRow kScanTensors[] = {
    {"backbone.layers.{}.mixer.x_proj.weight", "blk.{}.ssm_x.weight"},
    {"backbone.layers.{}.mixer.dt_proj.weight", "blk.{}.ssm_dt.weight"},
    {"backbone.layers.{}.mixer.dt_proj.bias", "blk.{}.ssm_dt.bias"},
    {"backbone.layers.{}.mixer.A_log", "blk.{}.ssm_a", StoredForm::minus_exp},
    {"backbone.layers.{}.mixer.D", "blk.{}.ssm_d"},
};
constexpr auto kMambaOwnTensors = joined(kScanTensors, kMixerTensors);

constexpr std::string_view kJambaClasses[] = {"JambaForCausalLM"};
constexpr ConfigRow kJambaConfig[] = {
    {"mamba_d_state", ConfigRow::Use::read, "ssm.state_size"},
    {"mamba_d_conv", ConfigRow::Use::read, "ssm.conv_kernel"},
    {"mamba_dt_rank", ConfigRow::Use::harmless},  // read with the inner size
    {"mamba_expand", ConfigRow::Use::harmless},
    {"mamba_conv_bias", ConfigRow::Use::harmless},  // the tensors tell
    {"mamba_proj_bias", ConfigRow::Use::only_value},
    {"mamba_inner_layernorms", ConfigRow::Use::harmless},  // the same
    {"attn_layer_period", ConfigRow::Use::harmless},       // read with the kinds of layers
    {"attn_layer_offset", ConfigRow::Use::harmless},
    {"expert_layer_period", ConfigRow::Use::harmless},  // the tensors tell
    {"expert_layer_offset", ConfigRow::Use::harmless},
    {"num_experts", ConfigRow::Use::read, "expert_count"},
    {"num_experts_per_tok", ConfigRow::Use::read, "expert_used_count"},
    {"use_mamba_kernels", ConfigRow::Use::harmless},
    {"use_mambapy", ConfigRow::Use::harmless},
    {"use_associative_scan", ConfigRow::Use::harmless},
    {"num_logits_to_keep", ConfigRow::Use::harmless},
    {"calc_logits_for_entire_prompt", ConfigRow::Use::harmless},
};
constexpr TensorRow kJambaOwnTensors[] = {
    {"model.final_layernorm.weight", "output_norm.weight"},
    {"model.layers.{}.pre_ff_layernorm.weight", "blk.{}.ffn_norm.weight"},
    {"model.layers.{}.feed_forward.gate_proj.weight", "blk.{}.ffn_gate.weight"},
    {"model.layers.{}.feed_forward.up_proj.weight", "blk.{}.ffn_up.weight"},
    {"model.layers.{}.feed_forward.down_proj.weight", "blk.{}.ffn_down.weight"},
    {"model.layers.{}.feed_forward.router.weight", "blk.{}.ffn_gate_inp.weight"},
    {"model.layers.{}.feed_forward.experts.{}.gate_proj.weight", "blk.{}.ffn_gate_exps.weight"},
    {"model.layers.{}.feed_forward.experts.{}.up_proj.weight", "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.feed_forward.experts.{}.down_proj.weight", "blk.{}.ffn_down_exps.weight"},
    {"model.layers.{}.mamba.x_proj.weight", "blk.{}.ssm_x.weight"},
    {"model.layers.{}.mamba.dt_proj.weight", "blk.{}.ssm_dt.weight"},
    {"model.layers.{}.mamba.dt_proj.bias", "blk.{}.ssm_dt.bias"},
    {"model.layers.{}.mamba.dt_layernorm.weight", "blk.{}.ssm_dt_norm.weight"},
    {"model.layers.{}.mamba.b_layernorm.weight", "blk.{}.ssm_b_norm.weight"},
    {"model.layers.{}.mamba.c_layernorm.weight", "blk.{}.ssm_c_norm.weight"},
    {"model.layers.{}.mamba.A_log", "blk.{}.ssm_a", StoredForm::minus_exp},
    {"model.layers.{}.mamba.D", "blk.{}.ssm_d"},
};
constexpr auto kJambaTensors = joined(kMambaProjectionTensors, kJambaOwnTensors);

}  // namespace

const Architecture kMamba = {.name = "mamba",
                             .models = "Mamba, Falcon Mamba",
                             .describe = describe_mamba,
                             .recurrent = true,
                             .keys = kScanKeys,
                             .hugging_face = {.classes = kMambaClasses,
                                              .config = kMambaOwnConfig,
                                              .tensors = kMambaOwnTensors,
                                              .tied_by_default = true,
                                              .step_rank = "time_step_rank"}};
const Architecture kJamba = {
    .name = "jamba",
    .models = "Jamba",
    .describe = describe_jamba,
    .experts = true,
    .recurrent = true,
    .keys = kScanKeys,
    .hugging_face = {.classes = kJambaClasses, .config = kJambaConfig, .tensors = kJambaTensors, .step_rank = "mamba_dt_rank"}};

}  // namespace wick
