// Mamba 2: layers that keep a state, and nothing else (Dao & Gu 2024).
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_mamba2(const ModelConfig& config) {
  const StateSpaceSpec space = config.state_space();
  DecoderSpec spec = config.decoder([&](int64_t) { return LayerSpec{{{.norm = config.norm("attn_norm"), .parts = {{space}}}}}; });
  spec.ropes.clear();
  return spec;
}

constexpr KeyRule kMamba2Keys[] = {
    {"ssm.conv_kernel"}, {"ssm.inner_size"}, {"ssm.state_size"}, {"ssm.time_step_rank"}, {"ssm.group_count"}};
constexpr std::string_view kMamba2Classes[] = {"Mamba2ForCausalLM"};
constexpr ConfigRow kMamba2Config[] = {
    {"layer_norm_epsilon", ConfigRow::Use::read, "attention.layer_norm_rms_epsilon"},
    {"conv_kernel", ConfigRow::Use::read, "ssm.conv_kernel"},
    {"state_size", ConfigRow::Use::read, "ssm.state_size"},
    {"num_heads", ConfigRow::Use::read, "ssm.time_step_rank"},
    {"head_dim", ConfigRow::Use::read, "ssm.head_dim"},
    {"n_groups", ConfigRow::Use::read, "ssm.group_count"},
    {"hidden_act", ConfigRow::Use::only_text, "silu swish"},
    {"use_bias", ConfigRow::Use::only_value},
    {"use_conv_bias", ConfigRow::Use::harmless},     // the tensors tell
    {"norm_before_gate", ConfigRow::Use::harmless},  // read by no version
    {"rms_norm", ConfigRow::Use::only_value, {}, 1},
    {"residual_in_fp32", ConfigRow::Use::harmless},
    {"expand", ConfigRow::Use::harmless},  // num_heads · head_dim
    {"intermediate_size", ConfigRow::Use::harmless},
    {"chunk_size", ConfigRow::Use::harmless},
    {"time_step_rank", ConfigRow::Use::harmless},
    {"time_step_min", ConfigRow::Use::harmless},
    {"time_step_max", ConfigRow::Use::harmless},
    {"time_step_floor", ConfigRow::Use::harmless},
    {"rescale_prenorm_residual", ConfigRow::Use::harmless},
    {"Mamba2ForCausalLM", ConfigRow::Use::of_class, "context_length", 1 << 20},
    {"Mamba2ForCausalLM", ConfigRow::Use::of_class, "attention.layer_norm_rms_epsilon", 1e-5},
};
constexpr TensorRow kMamba2Tensors[] = {
    {"backbone.embeddings.weight", "token_embd.weight"},
    {"backbone.norm_f.weight", "output_norm.weight"},
    {"backbone.layers.{}.norm.weight", "blk.{}.attn_norm.weight"},
    {"backbone.layers.{}.mixer.in_proj.weight", "blk.{}.ssm_in.weight"},
    {"backbone.layers.{}.mixer.conv1d.weight", "blk.{}.ssm_conv1d.weight", StoredForm::kernels},
    {"backbone.layers.{}.mixer.conv1d.bias", "blk.{}.ssm_conv1d.bias"},
    {"backbone.layers.{}.mixer.dt_bias", "blk.{}.ssm_dt.bias"},
    {"backbone.layers.{}.mixer.A_log", "blk.{}.ssm_a", StoredForm::minus_exp},
    {"backbone.layers.{}.mixer.D", "blk.{}.ssm_d", StoredForm::column},
    {"backbone.layers.{}.mixer.norm.weight", "blk.{}.ssm_norm.weight", StoredForm::state_norm},
    {"backbone.layers.{}.mixer.out_proj.weight", "blk.{}.ssm_out.weight"},
};

}  // namespace

const Architecture kMamba2 = {
    .name = "mamba2",
    .models = "Mamba 2",
    .describe = describe_mamba2,
    .recurrent = true,
    .keys = kMamba2Keys,
    .hugging_face = {.classes = kMamba2Classes, .config = kMamba2Config, .tensors = kMamba2Tensors, .state_norm_by_version = true}};

}  // namespace wick
