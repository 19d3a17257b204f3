// Gemma 4's text models: Gemma 3's layers, of which those without a window have larger heads, may use keys as values, and turn some of
// their pairs alone; inputs of each token for each layer, shared keys and values, and experts beside the feed-forward part (Gemma Team
// 2026).
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "wick/model/architectures/gemma_layers.h"
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

constexpr int64_t kLocalBeforeGlobal = 5;

// Experts read the residual stream by a norm of their own, beside the feed-forward part that all tokens use.
BlockSpec gemma4_feed_forward(const ModelConfig& config, int64_t layer, const ExpertsSpec& experts) {
  const bool routed =
      experts.count > 0 && config.keys.checkpoint().find_tensor(fmt::format("blk.{}.ffn_gate_inp.weight", layer)) != nullptr;
  if (!routed) return {.norm = config.norm("ffn_norm"), .parts = {{config.feed_forward(layer)}}, .post_norm = config.norm("post_ffw_norm")};
  NormSpec bare = config.norm("");
  bare.bare = true;
  return {.parts = {{.mixer = config.feed_forward(layer), .norm = config.norm("ffn_norm"), .post_norm = config.norm("post_ffw_norm_1")},
                    {.mixer = experts, .norm = bare, .post_norm = config.norm("post_ffw_norm_2")}},
          .post_norm = config.norm("post_ffw_norm")};
}

DecoderSpec describe_gemma4(const ModelConfig& given) {
  const ModelConfig config = with_local_layers(given, kLocalBeforeGlobal);
  const int64_t shared = shared_layers(config, 0), owners = config.layers - shared;
  const auto width = static_cast<int64_t>(config.keys.find_positive_or_zero("embedding_length_per_layer_input").value_or(0));
  ExpertsSpec experts = config.experts(Routing::softmax, true);
  experts.scales_inputs = true;
  DecoderSpec spec = config.decoder([&](int64_t layer) {
    AttentionSpec attention = gemma_attention(config, layer, owners);
    attention.keys_are_values = config.keys.checkpoint().find_tensor(fmt::format("blk.{}.attn_v.weight", layer)) == nullptr;
    LayerSpec made{{{.norm = config.norm("attn_norm"), .parts = {{attention}}, .post_norm = config.norm("post_attention_norm")},
                    gemma4_feed_forward(config, layer, experts)}};
    if (width > 0) {
      const LayerInputSpec input{.width = width, .activation = config.activation};
      made.blocks.push_back({.parts = {{input}}, .post_norm = config.norm("post_norm")});
    }
    made.blocks.back().sum_scaled_by = "layer_output_scale";
    return made;
  });
  add_local_rope(spec, config);
  leave_out_shared(spec, owners);
  if (width > 0) spec.layer_inputs = {.width = width, .norm_epsilon = config.norm_epsilon};
  spec.embedding_scale = std::sqrt(static_cast<float>(config.hidden_size));
  spec.logit_softcap = config.cap_or("final_logit_softcapping", 0);
  return spec;
}

constexpr KeyRule kGemma4OwnKeys[] = {{"attention.key_length_swa"}, {"attention.value_length_swa"}, {"rope.dimension_count_swa"}};
constexpr auto kGemma4Keys = joined(kGemmaLayerKeys, kGemma4OwnKeys);
constexpr std::string_view kGemma4Classes[] = {"Gemma4ForCausalLM"};
constexpr ConfigRow kGemma4OwnConfig[] = {
    {"attention_k_eq_v", ConfigRow::Use::harmless},  // the tensors tell
    {"global_head_dim", ConfigRow::Use::harmless},   // read with the layers
    {"num_global_key_value_heads", ConfigRow::Use::harmless},
    {"per_layer_config", ConfigRow::Use::harmless},
    {"use_double_wide_mlp", ConfigRow::Use::harmless},
    {"use_bidirectional_attention", ConfigRow::Use::only_text, "vision"},
    {"enable_moe_block", ConfigRow::Use::harmless},  // the tensors tell
    {"num_experts", ConfigRow::Use::read, "expert_count"},
    {"top_k_experts", ConfigRow::Use::read, "expert_used_count"},
    {"moe_intermediate_size", ConfigRow::Use::read, "expert_feed_forward_length"},
    {"expert_intermediate_size", ConfigRow::Use::read, "expert_feed_forward_length"},
    {"Gemma4ForCausalLM", ConfigRow::Use::of_class, "attention.key_length", 256},
};
constexpr auto kGemma4Config = joined(kGemmaLayerConfig, kGemma4OwnConfig);
constexpr TensorRow kGemma4OwnTensors[] = {
    {"model.layers.{}.post_feedforward_layernorm_1.weight", "blk.{}.post_ffw_norm_1.weight"},
    {"model.layers.{}.post_feedforward_layernorm_2.weight", "blk.{}.post_ffw_norm_2.weight"},
    {"model.layers.{}.pre_feedforward_layernorm_2.weight", "blk.{}.pre_ffw_norm_2.weight"},
    {"model.layers.{}.layer_scalar", "blk.{}.layer_output_scale.weight"},
    {"model.layers.{}.router.proj.weight", "blk.{}.ffn_gate_inp.weight"},
    {"model.layers.{}.router.scale", "blk.{}.ffn_gate_inp.scale"},
    {"model.layers.{}.router.per_expert_scale", "blk.{}.ffn_down_exps.scale"},
    {"model.layers.{}.experts.gate_up_proj", "blk.{}.ffn_gate_up_exps.weight"},
    {"model.layers.{}.experts.down_proj", "blk.{}.ffn_down_exps.weight"},
    {"model.layers.{}.experts.{}.gate_proj.weight", "blk.{}.ffn_gate_exps.weight"},
    {"model.layers.{}.experts.{}.up_proj.weight", "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.experts.{}.down_proj.weight", "blk.{}.ffn_down_exps.weight"},
};
constexpr auto kGemma4Tensors = joined(kGemmaLayerTensors, kGemma4OwnTensors);

}  // namespace

const Architecture kGemma4 = {
    .name = "gemma4",
    .models = "Gemma 4 (text)",
    .describe = describe_gemma4,
    .activation = nn::ActivationKind::gelu_pytorch_tanh,
    .experts = true,
    .scaled_feed_forward = true,
    .keys = kGemma4Keys,
    .hugging_face = {.classes = kGemma4Classes, .config = kGemma4Config, .tensors = kGemma4Tensors, .tied_by_default = true}};

}  // namespace wick
