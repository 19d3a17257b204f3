// Rows that architectures with experts share.
#pragma once

#include "wick/model/architectures/architecture.h"

namespace wick {

// The routing of DeepSeek V2, by groups of experts, and of what took it over.
inline constexpr ConfigRow kRoutingConfig[] = {
    {"num_experts_per_tok", ConfigRow::Use::read, "expert_used_count"},
    {"moe_intermediate_size", ConfigRow::Use::read, "expert_feed_forward_length"},
    {"routed_scaling_factor", ConfigRow::Use::read, "expert_weights_scale"},
    {"norm_topk_prob", ConfigRow::Use::read, "expert_weights_norm"},
    {"n_group", ConfigRow::Use::read, "expert_group_count"},
    {"topk_group", ConfigRow::Use::read, "expert_group_used_count"},
};
inline constexpr TensorRow kRoutedExpertTensors[] = {
    {"model.layers.{}.mlp.gate.weight", "blk.{}.ffn_gate_inp.weight"},
    {"model.layers.{}.mlp.gate.e_score_correction_bias", "blk.{}.exp_probs_b.bias"},
    {"model.layers.{}.mlp.experts.{}.gate_proj.weight", "blk.{}.ffn_gate_exps.weight"},
    {"model.layers.{}.mlp.experts.{}.up_proj.weight", "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.mlp.experts.{}.down_proj.weight", "blk.{}.ffn_down_exps.weight"},
    {"model.layers.{}.mlp.shared_experts.gate_proj.weight", "blk.{}.ffn_gate_shexp.weight"},
    {"model.layers.{}.mlp.shared_experts.up_proj.weight", "blk.{}.ffn_up_shexp.weight"},
    {"model.layers.{}.mlp.shared_experts.down_proj.weight", "blk.{}.ffn_down_shexp.weight"},
};

// Rows of Qwen's architectures.
inline constexpr ConfigRow kQwenExpertConfig[] = {
    {"num_experts", ConfigRow::Use::read, "expert_count"},
    {"num_experts_per_tok", ConfigRow::Use::read, "expert_used_count"},
    {"moe_intermediate_size", ConfigRow::Use::read, "expert_feed_forward_length"},
    {"norm_topk_prob", ConfigRow::Use::read, "expert_weights_normalized"},
    {"decoder_sparse_step", ConfigRow::Use::harmless},  // the tensors tell
    {"mlp_only_layers", ConfigRow::Use::harmless},
};
inline constexpr ConfigRow kQwenSharedExpertConfig[] = {
    {"shared_expert_intermediate_size", ConfigRow::Use::read, "expert_shared_feed_forward_length"},
};
inline constexpr TensorRow kQwenExpertTensors[] = {
    {"model.layers.{}.mlp.gate.weight", "blk.{}.ffn_gate_inp.weight"},
    {"model.layers.{}.mlp.experts.{}.gate_proj.weight", "blk.{}.ffn_gate_exps.weight"},
    {"model.layers.{}.mlp.experts.{}.up_proj.weight", "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.mlp.experts.{}.down_proj.weight", "blk.{}.ffn_down_exps.weight"},
    {"model.layers.{}.mlp.shared_expert.gate_proj.weight", "blk.{}.ffn_gate_shexp.weight"},
    {"model.layers.{}.mlp.shared_expert.up_proj.weight", "blk.{}.ffn_up_shexp.weight"},
    {"model.layers.{}.mlp.shared_expert.down_proj.weight", "blk.{}.ffn_down_shexp.weight"},
    {"model.layers.{}.mlp.shared_expert_gate.weight", "blk.{}.ffn_gate_inp_shexp.weight"},
};

}  // namespace wick
