// Rows that architectures with latent attention (DeepSeek V2's) share.
#pragma once

#include <string_view>

#include "wick/model/architectures/architecture.h"

namespace wick {

// Wick's own key: the definitions of these classes give the two norms of latent attention a number of their own, 1e-6, which no
// configuration has. llama.cpp's files, which lack the key, use that of the other norms, as llama.cpp does.
inline constexpr std::string_view kLatentNormEpsilon = "attention.latent_norm_rms_epsilon";

inline constexpr ConfigRow kLatentAttentionConfig[] = {
    {"head_dim", ConfigRow::Use::harmless},
    {"qk_head_dim", ConfigRow::Use::harmless},
    {"qk_nope_head_dim", ConfigRow::Use::read, "attention.key_length"},  // qk_rope_head_dim is added
    {"qk_rope_head_dim", ConfigRow::Use::read, "rope.dimension_count"},
    {"v_head_dim", ConfigRow::Use::read, "attention.value_length"},
    {"q_lora_rank", ConfigRow::Use::read, "attention.q_lora_rank"},
    {"kv_lora_rank", ConfigRow::Use::read, "attention.kv_lora_rank"},
    {"architectures", ConfigRow::Use::of_class, kLatentNormEpsilon, 1e-6},
};
inline constexpr TensorRow kLatentAttentionTensors[] = {
    {"model.layers.{}.self_attn.q_a_proj.weight", "blk.{}.attn_q_a.weight"},
    {"model.layers.{}.self_attn.q_a_layernorm.weight", "blk.{}.attn_q_a_norm.weight"},
    {"model.layers.{}.self_attn.q_b_proj.weight", "blk.{}.attn_q_b.weight"},
    {"model.layers.{}.self_attn.kv_a_proj_with_mqa.weight", "blk.{}.attn_kv_a_mqa.weight"},
    {"model.layers.{}.self_attn.kv_a_layernorm.weight", "blk.{}.attn_kv_a_norm.weight"},
};

}  // namespace wick
