// Rows that architectures with Mamba 2's layers share.
#pragma once

#include "wick/model/architectures/architecture.h"

namespace wick {

inline constexpr KeyRule kStateSpaceKeys[] = {
    {"ssm.conv_kernel"}, {"ssm.inner_size"}, {"ssm.state_size"}, {"ssm.time_step_rank"}, {"ssm.group_count"}};

// Rows for layers beside attention (Falcon-H1, Granite 4).
inline constexpr ConfigRow kMambaConfig[] = {
    {"mamba_n_heads", ConfigRow::Use::read, "ssm.time_step_rank"},
    {"mamba_d_head", ConfigRow::Use::read, "ssm.head_dim"},
    {"mamba_d_state", ConfigRow::Use::read, "ssm.state_size"},
    {"mamba_d_conv", ConfigRow::Use::read, "ssm.conv_kernel"},
    {"mamba_n_groups", ConfigRow::Use::read, "ssm.group_count"},
    {"mamba_expand", ConfigRow::Use::harmless},  // heads · d_head
    {"mamba_chunk_size", ConfigRow::Use::harmless},
    {"mamba_conv_bias", ConfigRow::Use::harmless},  // the tensors tell
    {"mamba_proj_bias", ConfigRow::Use::only_value},
};
// The projections of Mamba's first version (Jamba) and its second.
inline constexpr TensorRow kMambaProjectionTensors[] = {
    {"model.layers.{}.mamba.in_proj.weight", "blk.{}.ssm_in.weight"},
    {"model.layers.{}.mamba.conv1d.weight", "blk.{}.ssm_conv1d.weight", StoredForm::kernels},
    {"model.layers.{}.mamba.conv1d.bias", "blk.{}.ssm_conv1d.bias"},
    {"model.layers.{}.mamba.out_proj.weight", "blk.{}.ssm_out.weight"},
};
inline constexpr TensorRow kMamba2Tensors[] = {
    {"model.layers.{}.mamba.dt_bias", "blk.{}.ssm_dt.bias"},
    {"model.layers.{}.mamba.A_log", "blk.{}.ssm_a", StoredForm::minus_exp_column},
    {"model.layers.{}.mamba.D", "blk.{}.ssm_d", StoredForm::column},
};

// Rows for the norms and feed-forward parts of Falcon-H1 and Bamba.
inline constexpr TensorRow kPreFeedForwardTensors[] = {
    {"model.final_layernorm.weight", "output_norm.weight"},
    {"model.layers.{}.pre_ff_layernorm.weight", "blk.{}.ffn_norm.weight"},
    {"model.layers.{}.feed_forward.gate_proj.weight", "blk.{}.ffn_gate.weight"},
    {"model.layers.{}.feed_forward.up_proj.weight", "blk.{}.ffn_up.weight"},
    {"model.layers.{}.feed_forward.down_proj.weight", "blk.{}.ffn_down.weight"},
};

// Rows for models whose layers are called mixers (Mamba 2, Nemotron-H).
inline constexpr ConfigRow kMixerConfig[] = {
    {"layer_norm_epsilon", ConfigRow::Use::read, "attention.layer_norm_rms_epsilon"},
    {"conv_kernel", ConfigRow::Use::read, "ssm.conv_kernel"},
    {"n_groups", ConfigRow::Use::read, "ssm.group_count"},
    {"use_bias", ConfigRow::Use::only_value},
    {"use_conv_bias", ConfigRow::Use::harmless},  // the tensors tell
    {"residual_in_fp32", ConfigRow::Use::harmless},
    {"expand", ConfigRow::Use::harmless},  // heads · head_dim
    {"chunk_size", ConfigRow::Use::harmless},
    {"time_step_max", ConfigRow::Use::harmless},
    {"time_step_floor", ConfigRow::Use::harmless},
    {"rescale_prenorm_residual", ConfigRow::Use::harmless},
};
inline constexpr TensorRow kMixerTensors[] = {
    {"backbone.embeddings.weight", "token_embd.weight"},
    {"backbone.norm_f.weight", "output_norm.weight"},
    {"backbone.layers.{}.norm.weight", "blk.{}.attn_norm.weight"},
    {"backbone.layers.{}.mixer.in_proj.weight", "blk.{}.ssm_in.weight"},
    {"backbone.layers.{}.mixer.conv1d.weight", "blk.{}.ssm_conv1d.weight", StoredForm::kernels},
    {"backbone.layers.{}.mixer.conv1d.bias", "blk.{}.ssm_conv1d.bias"},
    {"backbone.layers.{}.mixer.dt_bias", "blk.{}.ssm_dt.bias"},
    {"backbone.layers.{}.mixer.A_log", "blk.{}.ssm_a", StoredForm::minus_exp_column},
    {"backbone.layers.{}.mixer.D", "blk.{}.ssm_d", StoredForm::column},
    {"backbone.layers.{}.mixer.norm.weight", "blk.{}.ssm_norm.weight", StoredForm::state_norm},
    {"backbone.layers.{}.mixer.out_proj.weight", "blk.{}.ssm_out.weight"},
};

}  // namespace wick
