// LFM2: gated short convolutions in most layers and attention with a norm of each head's queries and keys in the others (Liquid AI 2025).
// Some have experts, but in their first layers.
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_lfm2(const ModelConfig& config) {
  const int64_t kernel = config.keys.size("shortconv.l_cache");
  if (kernel < 2) config.keys.fail_value("shortconv.l_cache", std::to_string(kernel), "want at least 2 positions");
  const ExpertsSpec experts = config.experts(Routing::sigmoid, config.normalizes_experts(true));
  DecoderSpec spec = config.decoder([&](int64_t layer) {
    PartSpec mixer{ShortConvolutionSpec{.kernel = kernel}};
    if (config.attends(layer)) {
      AttentionSpec attention = config.attention(layer);
      attention.head_norms = HeadNorms::each_head;
      mixer = {attention};
    }
    return LayerSpec{{{.norm = config.norm("attn_norm"), .parts = {std::move(mixer)}},
                      {.norm = config.norm("ffn_norm"), .parts = config.feed_forward_parts(layer, experts)}}};
  });
  // The name of older files, and of folders.
  if (config.keys.checkpoint().find_tensor("output_norm.weight") == nullptr) spec.output_norm = config.norm("token_embd_norm");
  return spec;
}

constexpr ConfigRow kLfm2SharedConfig[] = {
    {"norm_eps", ConfigRow::Use::read, "attention.layer_norm_rms_epsilon"},
    {"conv_L_cache", ConfigRow::Use::read, "shortconv.l_cache"},
    {"conv_bias", ConfigRow::Use::only_value},
    {"full_attn_idxs", ConfigRow::Use::harmless},  // read with the kinds of layers
    {"tie_embedding", ConfigRow::Use::only_value, {}, 1},
};

constexpr KeyRule kLfm2Keys[] = {{"shortconv.l_cache"}};
constexpr std::string_view kLfm2Classes[] = {"Lfm2ForCausalLM"};
constexpr ConfigRow kLfm2DenseConfig[] = {
    {"block_norm_eps", ConfigRow::Use::harmless},  // norm_eps counts
    {"block_ff_dim", ConfigRow::Use::read, "feed_forward_length"},
    {"conv_dim", ConfigRow::Use::harmless},  // the tensors tell
    {"conv_dim_out", ConfigRow::Use::harmless},
    {"block_dim", ConfigRow::Use::harmless},
    {"num_heads", ConfigRow::Use::harmless},                 // num_attention_heads counts
    {"theta", ConfigRow::Use::harmless},                     // rope_theta counts
    {"block_auto_adjust_ff_dim", ConfigRow::Use::harmless},  // read with the width
    {"block_ffn_dim_multiplier", ConfigRow::Use::harmless},
    {"block_multiple_of", ConfigRow::Use::harmless},
    {"block_mlp_init_scale", ConfigRow::Use::harmless},
    {"block_out_init_scale", ConfigRow::Use::harmless},
    {"block_use_xavier_init", ConfigRow::Use::harmless},
    {"conv_use_xavier_init", ConfigRow::Use::harmless},
    {"block_use_swiglu", ConfigRow::Use::only_value, {}, 1},
    {"use_pos_enc", ConfigRow::Use::only_value, {}, 1},
    {"Lfm2ForCausalLM", ConfigRow::Use::of_class, "shortconv.l_cache", 3},
    {"Lfm2ForCausalLM", ConfigRow::Use::of_class, "attention.layer_norm_rms_epsilon", 1e-5},
};
constexpr auto kLfm2Config = joined(kLfm2SharedConfig, kLfm2DenseConfig);
constexpr TensorRow kLfm2Tensors[] = {
    {"model.embedding_norm.weight", "token_embd_norm.weight"},
    {"model.layers.{}.operator_norm.weight", "blk.{}.attn_norm.weight"},
    {"model.layers.{}.ffn_norm.weight", "blk.{}.ffn_norm.weight"},
    {"model.layers.{}.conv.in_proj.weight", "blk.{}.shortconv.in_proj.weight"},
    {"model.layers.{}.conv.conv.weight", "blk.{}.shortconv.conv.weight", StoredForm::kernels},
    {"model.layers.{}.conv.out_proj.weight", "blk.{}.shortconv.out_proj.weight"},
    {"model.layers.{}.self_attn.q_layernorm.weight", "blk.{}.attn_q_norm.weight"},
    {"model.layers.{}.self_attn.k_layernorm.weight", "blk.{}.attn_k_norm.weight"},
    {"model.layers.{}.self_attn.out_proj.weight", "blk.{}.attn_output.weight"},
    {"model.layers.{}.feed_forward.w1.weight", "blk.{}.ffn_gate.weight"},
    {"model.layers.{}.feed_forward.w3.weight", "blk.{}.ffn_up.weight"},
    {"model.layers.{}.feed_forward.w2.weight", "blk.{}.ffn_down.weight"},
};

constexpr KeyRule kLfm2MoeKeys[] = {{"shortconv.l_cache"}, {"leading_dense_block_count"}};
constexpr std::string_view kLfm2MoeClasses[] = {"Lfm2MoeForCausalLM"};
constexpr ConfigRow kLfm2ExpertsConfig[] = {
    {"num_experts", ConfigRow::Use::read, "expert_count"},
    {"num_experts_per_tok", ConfigRow::Use::read, "expert_used_count"},
    {"moe_intermediate_size", ConfigRow::Use::read, "expert_feed_forward_length"},
    {"num_dense_layers", ConfigRow::Use::read, "leading_dense_block_count"},
    {"norm_topk_prob", ConfigRow::Use::read, "expert_weights_norm"},
    {"routed_scaling_factor", ConfigRow::Use::read, "expert_weights_scale"},
    {"use_expert_bias", ConfigRow::Use::harmless},  // the tensors tell
    {"Lfm2MoeForCausalLM", ConfigRow::Use::of_class, "expert_gating_func", 2},
    {"Lfm2MoeForCausalLM", ConfigRow::Use::of_class, "shortconv.l_cache", 3},
    {"Lfm2MoeForCausalLM", ConfigRow::Use::of_class, "attention.layer_norm_rms_epsilon", 1e-5},
};
constexpr auto kLfm2MoeConfig = joined(kLfm2SharedConfig, kLfm2ExpertsConfig);
constexpr TensorRow kLfm2ExpertsTensors[] = {
    {"model.layers.{}.feed_forward.gate.weight", "blk.{}.ffn_gate_inp.weight"},
    {"model.layers.{}.feed_forward.expert_bias", "blk.{}.exp_probs_b.bias"},
    {"model.layers.{}.feed_forward.experts.{}.w1.weight", "blk.{}.ffn_gate_exps.weight"},
    {"model.layers.{}.feed_forward.experts.{}.w3.weight", "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.feed_forward.experts.{}.w2.weight", "blk.{}.ffn_down_exps.weight"},
};
constexpr auto kLfm2MoeTensors = joined(kLfm2Tensors, kLfm2ExpertsTensors);

}  // namespace

const Architecture kLfm2Moe = {
    .name = "lfm2moe",
    .models = "LFM2 8B-A1B, LFM2.5 8B-A1B",
    .describe = describe_lfm2,
    .experts = true,
    .recurrent = true,
    .keys = kLfm2MoeKeys,
    .hugging_face = {.classes = kLfm2MoeClasses, .config = kLfm2MoeConfig, .tensors = kLfm2MoeTensors, .tied_by_default = true}};
const Architecture kLfm2 = {
    .name = "lfm2",
    .models = "LFM2, LFM2.5 (dense)",
    .describe = describe_lfm2,
    .recurrent = true,
    .keys = kLfm2Keys,
    .hugging_face = {
        .classes = kLfm2Classes, .config = kLfm2Config, .tensors = kLfm2Tensors, .tied_by_default = true, .adjusts_width = true}};

}  // namespace wick
