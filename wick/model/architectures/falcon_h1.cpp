// Falcon-H1: in each layer, attention and Mamba 2 side by side (TII 2025). The factors of its configurations are in the weights of GGUF
// files.
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_falcon_h1(const ModelConfig& config) {
  const StateSpaceSpec space = config.state_space();
  return config.decoder([&](int64_t layer) {
    return LayerSpec{{{.norm = config.norm("attn_norm"), .parts = {{config.attention(layer)}, {space}}},
                      {.norm = config.norm("ffn_norm"), .parts = {{config.feed_forward(layer)}}}}};
  });
}

constexpr KeyRule kFalconH1Keys[] = {
    {"ssm.conv_kernel"}, {"ssm.inner_size"}, {"ssm.state_size"}, {"ssm.time_step_rank"}, {"ssm.group_count"}};
constexpr std::string_view kFalconH1Classes[] = {"FalconH1ForCausalLM"};
constexpr ConfigRow kFalconH1Config[] = {
    {"mamba_n_heads", ConfigRow::Use::read, "ssm.time_step_rank"},
    {"mamba_d_head", ConfigRow::Use::read, "ssm.head_dim"},
    {"mamba_d_state", ConfigRow::Use::read, "ssm.state_size"},
    {"mamba_d_conv", ConfigRow::Use::read, "ssm.conv_kernel"},
    {"mamba_n_groups", ConfigRow::Use::read, "ssm.group_count"},
    {"mamba_d_ssm", ConfigRow::Use::harmless},  // heads · d_head
    {"mamba_expand", ConfigRow::Use::harmless},
    {"mamba_chunk_size", ConfigRow::Use::harmless},
    {"mamba_conv_bias", ConfigRow::Use::harmless},  // the tensors tell
    {"mamba_use_mlp", ConfigRow::Use::only_value, {}, 1},
    {"mamba_proj_bias", ConfigRow::Use::only_value},
    {"projectors_bias", ConfigRow::Use::only_value},
    {"mamba_rms_norm", ConfigRow::Use::only_value},
    {"mamba_norm_before_gate", ConfigRow::Use::harmless},  // without a norm
    {"num_logits_to_keep", ConfigRow::Use::harmless},
    {"attention_in_multiplier", ConfigRow::Use::only_value, {}, 1},
    {"attention_out_multiplier", ConfigRow::Use::only_value, {}, 1},
    {"embedding_multiplier", ConfigRow::Use::only_value, {}, 1},
    {"key_multiplier", ConfigRow::Use::only_value, {}, 1},
    {"lm_head_multiplier", ConfigRow::Use::only_value, {}, 1},
    {"mlp_multipliers", ConfigRow::Use::only_value, {}, 1},
    {"ssm_in_multiplier", ConfigRow::Use::only_value, {}, 1},
    {"ssm_multipliers", ConfigRow::Use::only_value, {}, 1},
    {"ssm_out_multiplier", ConfigRow::Use::only_value, {}, 1},
};
constexpr TensorRow kFalconH1Tensors[] = {
    {"model.final_layernorm.weight", "output_norm.weight"},
    {"model.layers.{}.pre_ff_layernorm.weight", "blk.{}.ffn_norm.weight"},
    {"model.layers.{}.feed_forward.gate_proj.weight", "blk.{}.ffn_gate.weight"},
    {"model.layers.{}.feed_forward.up_proj.weight", "blk.{}.ffn_up.weight"},
    {"model.layers.{}.feed_forward.down_proj.weight", "blk.{}.ffn_down.weight"},
    {"model.layers.{}.mamba.in_proj.weight", "blk.{}.ssm_in.weight"},
    {"model.layers.{}.mamba.conv1d.weight", "blk.{}.ssm_conv1d.weight", StoredForm::kernels},
    {"model.layers.{}.mamba.conv1d.bias", "blk.{}.ssm_conv1d.bias"},
    {"model.layers.{}.mamba.dt_bias", "blk.{}.ssm_dt.bias"},
    {"model.layers.{}.mamba.A_log", "blk.{}.ssm_a", StoredForm::minus_exp},
    {"model.layers.{}.mamba.D", "blk.{}.ssm_d", StoredForm::column},
    {"model.layers.{}.mamba.out_proj.weight", "blk.{}.ssm_out.weight"},
};

}  // namespace

const Architecture kFalconH1 = {.name = "falcon-h1",
                                .models = "Falcon-H1 (GGUF files; folders whose multipliers are 1)",
                                .describe = describe_falcon_h1,
                                .recurrent = true,
                                .keys = kFalconH1Keys,
                                .hugging_face = {.classes = kFalconH1Classes, .config = kFalconH1Config, .tensors = kFalconH1Tensors}};

}  // namespace wick
