// Mixtures of experts in the manner of DeepSeek V3 with plain attention: sigmoids choose with a bias that balances the load, and all tokens
// share an expert. GLM 4.5 (GLM-4.5 Team 2025), dots.llm1 (Huo et al. 2025), MiniMax M2, Ling 2 (Ling Team 2025), and ERNIE 4.5 and Hunyuan
// with a softmax instead.
#include "wick/model/architectures/expert_rows.h"
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_with(const ModelConfig& config, HeadNorms norms, const ExpertsSpec& experts, const char* second_norm = "ffn_norm") {
  return config.decoder([&](int64_t layer) {
    AttentionSpec attention = config.attention(layer);
    attention.head_norms = norms;
    LayerSpec made = config.layer(std::move(attention), config.feed_forward_parts(layer, experts));
    made.blocks[1].norm = config.norm(second_norm);
    return made;
  });
}

DecoderSpec describe_hunyuan_dense(const ModelConfig& config) { return describe_with(config, HeadNorms::each_head_rotated, {}); }

// GLM 4.5 Air has no norms of queries and keys. Its GGUF files hold the layers that predict more tokens behind the others, and count them.
DecoderSpec describe_glm4moe(const ModelConfig& config) {
  ModelConfig own = config;
  own.drop_further_layers();
  const bool norms = own.keys.checkpoint().find_tensor("blk.0.attn_q_norm.weight") != nullptr;
  return describe_with(own, norms ? HeadNorms::each_head : HeadNorms::none, own.experts(Routing::sigmoid, own.normalizes_experts(false)),
                       "post_attention_norm");
}

DecoderSpec describe_dots1(const ModelConfig& config) {
  return describe_with(config, HeadNorms::each_head, config.experts(Routing::sigmoid, config.normalizes_experts(false)));
}

DecoderSpec describe_ernie_moe(const ModelConfig& config) {
  DecoderSpec spec = describe_with(config, HeadNorms::none, config.experts(Routing::softmax, true));
  // llama.cpp's files are run without the bias behind attention.
  if (config.keys.checkpoint().gguf() == nullptr || config.keys.find_flag("attention.output_bias").value_or(false)) return spec;
  for (LayerSpec& layer : spec.layers) std::get<AttentionSpec>(layer.blocks[0].parts[0].mixer).output_bias = false;
  spec.unused = {".attn_output.bias"};
  return spec;
}

DecoderSpec describe_hunyuan_moe(const ModelConfig& config) {
  return describe_with(config, HeadNorms::each_head_rotated, config.experts(Routing::softmax, true));
}

DecoderSpec describe_minimax_m2(const ModelConfig& config) {
  return describe_with(config, HeadNorms::all_heads, config.experts(Routing::sigmoid, true));
}

// The layers that predict more tokens are counted with the others in GGUF files.
DecoderSpec describe_bailing_moe2(const ModelConfig& config) {
  ModelConfig own = config;
  own.drop_further_layers();
  const bool norms = own.keys.checkpoint().find_tensor("blk.0.attn_q_norm.weight") != nullptr;
  return describe_with(own, norms ? HeadNorms::each_head : HeadNorms::none, own.experts(Routing::sigmoid, own.normalizes_experts(true)));
}

constexpr KeyRule kSharedExpertKeys[] = {{"leading_dense_block_count"},
                                         {"nextn_predict_layers"},
                                         {"interleave_moe_layer_step"},
                                         {"rope.dimension_sections"},
                                         {"attention.output_bias"}};
constexpr std::string_view kGlm4MoeClasses[] = {"Glm4MoeForCausalLM"};
constexpr std::string_view kDots1Classes[] = {"Dots1ForCausalLM"};
constexpr std::string_view kErnieMoeClasses[] = {"Ernie4_5_MoeForCausalLM"};
constexpr std::string_view kHunYuanMoeClasses[] = {"HunYuanMoEV1ForCausalLM"};
constexpr std::string_view kHunYuanDenseClasses[] = {"HunYuanDenseV1ForCausalLM"};
constexpr std::string_view kBailingMoe2Classes[] = {"BailingMoeV2ForCausalLM"};
constexpr std::string_view kMiniMaxM2Classes[] = {"MiniMaxM2ForCausalLM"};
constexpr ConfigRow kGlm4MoeOwnConfig[] = {
    {"n_routed_experts", ConfigRow::Use::read, "expert_count"},
    {"n_shared_experts", ConfigRow::Use::read, "expert_shared_count"},
    {"first_k_dense_replace", ConfigRow::Use::read, "leading_dense_block_count"},
    {"use_qk_norm", ConfigRow::Use::harmless},               // the tensors tell
    {"num_nextn_predict_layers", ConfigRow::Use::harmless},  // their layers are dropped
    {"scoring_func", ConfigRow::Use::only_text, "sigmoid"},
    {"topk_method", ConfigRow::Use::only_text, "noaux_tc"},
    {"Glm4MoeForCausalLM", ConfigRow::Use::of_class, "expert_gating_func", 2},
    {"Dots1ForCausalLM", ConfigRow::Use::of_class, "expert_gating_func", 2},
};
constexpr auto kGlm4MoeConfig = joined(kGlm4MoeOwnConfig, kRoutingConfig);
constexpr ConfigRow kErnieMoeConfig[] = {
    {"moe_num_experts", ConfigRow::Use::read, "expert_count"},
    {"moe_k", ConfigRow::Use::read, "expert_used_count"},
    {"moe_intermediate_size", ConfigRow::Use::read, "expert_feed_forward_length"},
    {"moe_num_shared_experts", ConfigRow::Use::read, "expert_shared_count"},
    {"moe_layer_start_index", ConfigRow::Use::read, "leading_dense_block_count"},
    {"moe_layer_interval", ConfigRow::Use::read, "interleave_moe_layer_step"},
    {"moe_layer_end_index", ConfigRow::Use::harmless},  // the tensors tell
    {"moe_norm_min", ConfigRow::Use::harmless},         // the least sum that is divided by
    {"moe_capacity", ConfigRow::Use::harmless},
    {"use_bias", ConfigRow::Use::read, "attention.output_bias"},
};
constexpr ConfigRow kHunYuanMoeConfig[] = {
    {"num_experts", ConfigRow::Use::read, "expert_count"},
    {"moe_topk", ConfigRow::Use::read, "expert_used_count"},
    {"moe_intermediate_size", ConfigRow::Use::read, "expert_feed_forward_length"},
    {"num_shared_expert", ConfigRow::Use::read, "expert_shared_count"},
    {"eod_token_id", ConfigRow::Use::harmless},
    {"attention_head_dim", ConfigRow::Use::harmless},  // head_dim again
    {"use_qk_norm", ConfigRow::Use::only_value, {}, 1},
    {"norm_topk_prob", ConfigRow::Use::only_value, {}, 1},
    {"norm_type", ConfigRow::Use::only_text, "rms"},
    {"use_rotary_pos_emb", ConfigRow::Use::only_value, {}, 1},
    {"use_mixed_mlp_moe", ConfigRow::Use::harmless},  // the tensors tell
    {"cla_share_factor", ConfigRow::Use::harmless},   // of use_cla, which is refused
};
constexpr ConfigRow kMiniMaxM2Config[] = {
    {"num_local_experts", ConfigRow::Use::read, "expert_count"},
    {"num_experts_per_tok", ConfigRow::Use::read, "expert_used_count"},
    {"use_qk_norm", ConfigRow::Use::only_value, {}, 1},
    {"scoring_func", ConfigRow::Use::only_text, "sigmoid"},
    {"rotary_dim", ConfigRow::Use::read, "rope.dimension_count"},
    {"qk_norm_type", ConfigRow::Use::only_text, "per_layer"},
    {"attn_type_list", ConfigRow::Use::only_value, {}, 1},
    {"use_routing_bias", ConfigRow::Use::only_value, {}, 1},
    // Of linear attention, windows and shared experts, which the model has not.
    {"layernorm_full_attention_beta", ConfigRow::Use::only_value, {}, 1},
    {"layernorm_linear_attention_beta", ConfigRow::Use::harmless},
    {"layernorm_mlp_beta", ConfigRow::Use::only_value, {}, 1},
    {"shared_intermediate_size", ConfigRow::Use::only_value, {}, 0},
    {"shared_moe_mode", ConfigRow::Use::harmless},
    {"swa_rope_theta", ConfigRow::Use::harmless},
    {"use_mtp", ConfigRow::Use::harmless},
    {"num_mtp_modules", ConfigRow::Use::harmless},
    {"mtp_transformer_layers", ConfigRow::Use::harmless},
    {"MiniMaxM2ForCausalLM", ConfigRow::Use::of_class, "expert_gating_func", 2},
};
constexpr ConfigRow kBailingMoe2OwnConfig[] = {
    {"num_experts", ConfigRow::Use::read, "expert_count"},
    {"num_shared_experts", ConfigRow::Use::read, "expert_shared_count"},
    {"first_k_dense_replace", ConfigRow::Use::read, "leading_dense_block_count"},
    {"moe_shared_expert_intermediate_size", ConfigRow::Use::harmless},  // the tensors tell
    {"use_qk_norm", ConfigRow::Use::harmless},                          // the same
    {"moe_router_enable_expert_bias", ConfigRow::Use::harmless},        // the same
    {"num_nextn_predict_layers", ConfigRow::Use::harmless},             // their layers are dropped
    {"mtp_loss_scaling_factor", ConfigRow::Use::harmless},
    {"router_dtype", ConfigRow::Use::harmless},
    {"embedding_dropout", ConfigRow::Use::harmless},
    {"output_dropout", ConfigRow::Use::harmless},
    {"rotary_dim", ConfigRow::Use::read, "rope.dimension_count"},
    {"use_bias", ConfigRow::Use::only_value},
    {"use_qkv_bias", ConfigRow::Use::only_value},
    {"use_rmsnorm", ConfigRow::Use::only_value, {}, 1},
    {"norm_head", ConfigRow::Use::only_value},
    {"norm_softmax", ConfigRow::Use::only_value},
    {"multi_gate", ConfigRow::Use::only_value},
    {"score_function", ConfigRow::Use::only_text, "sigmoid"},
    {"BailingMoeV2ForCausalLM", ConfigRow::Use::of_class, "expert_gating_func", 2},
};
constexpr auto kBailingMoe2Config = joined(kBailingMoe2OwnConfig, kRoutingConfig);
constexpr TensorRow kBailingMoe2OwnTensors[] = {
    {"model.word_embeddings.weight", "token_embd.weight"},
    {"model.layers.{}.attention.query_key_value.weight", "blk.{}.attn_qkv.weight"},
    {"model.layers.{}.attention.dense.weight", "blk.{}.attn_output.weight"},
    {"model.layers.{}.attention.query_layernorm.weight", "blk.{}.attn_q_norm.weight"},
    {"model.layers.{}.attention.key_layernorm.weight", "blk.{}.attn_k_norm.weight"},
    {"model.layers.{}.mlp.gate.expert_bias", "blk.{}.exp_probs_b.bias"},
};
constexpr auto kBailingMoe2Tensors = joined(kBailingMoe2OwnTensors, kRoutedExpertTensors);
constexpr TensorRow kGlm4MoeOwnTensors[] = {
    {"model.layers.{}.post_attention_layernorm.weight", "blk.{}.post_attention_norm.weight"},
};
constexpr auto kGlm4MoeTensors = joined(kGlm4MoeOwnTensors, kRoutedExpertTensors);
constexpr TensorRow kSharedExpertOwnTensors[] = {
    {"model.layers.{}.mlp.moe_statics.e_score_correction_bias", "blk.{}.exp_probs_b.bias"},
    {"model.layers.{}.mlp.gate.wg.weight", "blk.{}.ffn_gate_inp.weight"},
    {"model.layers.{}.mlp.shared_mlp.gate_proj.weight", "blk.{}.ffn_gate_shexp.weight"},
    {"model.layers.{}.mlp.shared_mlp.up_proj.weight", "blk.{}.ffn_up_shexp.weight"},
    {"model.layers.{}.mlp.shared_mlp.down_proj.weight", "blk.{}.ffn_down_shexp.weight"},
    {"model.layers.{}.self_attn.query_layernorm.weight", "blk.{}.attn_q_norm.weight"},
    {"model.layers.{}.self_attn.key_layernorm.weight", "blk.{}.attn_k_norm.weight"},
    {"model.layers.{}.block_sparse_moe.gate.weight", "blk.{}.ffn_gate_inp.weight"},
    {"model.layers.{}.block_sparse_moe.e_score_correction_bias", "blk.{}.exp_probs_b.bias"},
    {"model.layers.{}.block_sparse_moe.experts.{}.w1.weight", "blk.{}.ffn_gate_exps.weight"},
    {"model.layers.{}.block_sparse_moe.experts.{}.w2.weight", "blk.{}.ffn_down_exps.weight"},
    {"model.layers.{}.block_sparse_moe.experts.{}.w3.weight", "blk.{}.ffn_up_exps.weight"},
};
constexpr auto kSharedExpertTensors = joined(kSharedExpertOwnTensors, kRoutedExpertTensors);

}  // namespace

const Architecture kGlm4Moe = {.name = "glm4moe",
                               .models = "GLM 4.5, GLM 4.6",
                               .describe = describe_glm4moe,
                               .experts = true,
                               .keys = kSharedExpertKeys,
                               .hugging_face = {.classes = kGlm4MoeClasses,
                                                .config = kGlm4MoeConfig,
                                                .tensors = kGlm4MoeTensors,
                                                .ignore_mtp_layers = true,
                                                .usual_rotary_factor = 0.5}};
const Architecture kDots1 = {.name = "dots1",
                             .models = "dots.llm1",
                             .describe = describe_dots1,
                             .experts = true,
                             .keys = kSharedExpertKeys,
                             .hugging_face = {.classes = kDots1Classes, .config = kGlm4MoeConfig, .tensors = kSharedExpertTensors}};
const Architecture kErnieMoe = {.name = "ernie4_5-moe",
                                .models = "ERNIE 4.5 (21B-A3B, 300B-A47B)",
                                .describe = describe_ernie_moe,
                                .gguf_rope = RopeStyle::interleaved,
                                .experts = true,
                                .keys = kSharedExpertKeys,
                                .hugging_face = {.classes = kErnieMoeClasses,
                                                 .config = kErnieMoeConfig,
                                                 .tensors = kSharedExpertTensors,
                                                 .rope = RopeStyle::interleaved,
                                                 .tied_by_default = true}};
const Architecture kHunYuanMoe = {
    .name = "hunyuan-moe",
    .models = "Hunyuan A13B",
    .describe = describe_hunyuan_moe,
    .experts = true,
    .keys = kSharedExpertKeys,
    .hugging_face = {.classes = kHunYuanMoeClasses, .config = kHunYuanMoeConfig, .tensors = kSharedExpertTensors, .tied_by_default = true}};
const Architecture kHunYuanDense = {
    .name = "hunyuan-dense",
    .models = "Hunyuan (dense)",
    .describe = describe_hunyuan_dense,
    .keys = kSharedExpertKeys,
    .hugging_face = {
        .classes = kHunYuanDenseClasses, .config = kHunYuanMoeConfig, .tensors = kSharedExpertTensors, .tied_by_default = true}};
const Architecture kMiniMaxM2 = {
    .name = "minimax-m2",
    .models = "MiniMax M2",
    .describe = describe_minimax_m2,
    .experts = true,
    .keys = kSharedExpertKeys,
    .hugging_face = {.classes = kMiniMaxM2Classes, .config = kMiniMaxM2Config, .tensors = kSharedExpertTensors, .turns_partly = true}};

const Architecture kBailingMoe2 = {.name = "bailingmoe2",
                                   .models = "Ling 2, Ring 2 (mini, flash, 1T)",
                                   .describe = describe_bailing_moe2,
                                   .experts = true,
                                   .keys = kSharedExpertKeys,
                                   .hugging_face = {.classes = kBailingMoe2Classes,
                                                    .config = kBailingMoe2Config,
                                                    .tensors = kBailingMoe2Tensors,
                                                    .ignore_mtp_layers = true,
                                                    .usual_rotary_factor = 0.5}};

}  // namespace wick
