// Granite 3 and 4: Llama's layers, some with experts, with factors for the embedding, the residual stream, the scores and the logits. Of
// Granite 4, most layers are Mamba 2's in the place of attention.
#include "wick/model/architectures/rows.h"
#include "wick/model/architectures/state_space_rows.h"

namespace wick {
namespace {

// `mixer(layer)`: what takes the place of attention.
DecoderSpec describe_with(const ModelConfig& config, const std::function<PartSpec(int64_t layer)>& mixer) {
  const auto factor = [&](const char* name) { return config.keys.find_positive_or_zero(name).value_or(1); };
  const ExpertsSpec experts = config.experts(Routing::softmax_of_used, false);
  DecoderSpec spec = config.decoder([&](int64_t layer) {
    LayerSpec made{{{.norm = config.norm("attn_norm"), .parts = {mixer(layer)}},
                    {.norm = config.norm("ffn_norm"), .parts = config.feed_forward_parts(layer, experts)}}};
    for (BlockSpec& block : made.blocks) block.residual_scale = static_cast<float>(factor("residual_scale"));
    return made;
  });
  spec.embedding_scale = static_cast<float>(factor("embedding_scale"));
  // It divides.
  spec.logit_scale = static_cast<float>(1 / factor("logit_scale"));
  return spec;
}

DecoderSpec describe_granite(const ModelConfig& config) {
  // Granite 4 without Mamba 2's layers says so where it has no positions.
  const bool rotated = config.keys.find_flag("rope.scaling.finetuned").value_or(true);
  return describe_with(config, [&](int64_t layer) {
    AttentionSpec attention = config.attention(layer);
    if (!rotated) attention.rope = -1;
    return PartSpec{attention};
  });
}

DecoderSpec describe_granite_hybrid(const ModelConfig& config) {
  // With layers of both kinds, positions are not rotated, but for files that say so.
  const bool rotated = config.keys.find_flag("rope.scaling.finetuned").value_or(false);
  std::optional<StateSpaceSpec> space;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    if (!space && !config.attends(layer)) space = config.state_space();
  }
  return describe_with(config, [&](int64_t layer) {
    if (!config.attends(layer)) return PartSpec{*space};
    AttentionSpec attention = config.attention(layer);
    if (!rotated) attention.rope = -1;
    return PartSpec{attention};
  });
}

constexpr KeyRule kGraniteKeys[] = {{"embedding_scale"}, {"residual_scale"}, {"logit_scale"}, {"rope.scaling.finetuned"}};
constexpr std::string_view kGraniteClasses[] = {"GraniteForCausalLM"};
constexpr ConfigRow kGraniteConfig[] = {
    {"embedding_multiplier", ConfigRow::Use::read, "embedding_scale"},
    {"residual_multiplier", ConfigRow::Use::read, "residual_scale"},
    {"attention_multiplier", ConfigRow::Use::read, "attention.scale"},
    {"logits_scaling", ConfigRow::Use::read, "logit_scale"},
};

constexpr std::string_view kGraniteMoeClasses[] = {"GraniteMoeForCausalLM", "GraniteMoeSharedForCausalLM"};
constexpr ConfigRow kGraniteExpertsConfig[] = {
    {"num_local_experts", ConfigRow::Use::read, "expert_count"},
    {"num_experts_per_tok", ConfigRow::Use::read, "expert_used_count"},
    {"shared_intermediate_size", ConfigRow::Use::read, "expert_shared_feed_forward_length"},
};
constexpr auto kGraniteMoeConfig = joined(kGraniteConfig, kGraniteExpertsConfig);
constexpr TensorRow kGraniteMoeTensors[] = {
    {"model.layers.{}.block_sparse_moe.router.layer.weight", "blk.{}.ffn_gate_inp.weight"},
    {"model.layers.{}.block_sparse_moe.input_linear.weight", "blk.{}.ffn_gate_exps.weight", StoredForm::halves,
     "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.block_sparse_moe.output_linear.weight", "blk.{}.ffn_down_exps.weight"},
    {"model.layers.{}.shared_mlp.input_linear.weight", "blk.{}.ffn_gate_shexp.weight", StoredForm::halves, "blk.{}.ffn_up_shexp.weight"},
    {"model.layers.{}.shared_mlp.output_linear.weight", "blk.{}.ffn_down_shexp.weight"},
};

constexpr auto kGraniteHybridKeys = joined(kGraniteKeys, kStateSpaceKeys);
constexpr std::string_view kGraniteHybridClasses[] = {"GraniteMoeHybridForCausalLM", "BambaForCausalLM"};
constexpr ConfigRow kGraniteHybridOwnConfig[] = {
    {"position_embedding_type", ConfigRow::Use::only_text, "rope nope"},  // read with the sizes of states
    {"normalization_function", ConfigRow::Use::only_text, "rmsnorm"},
    {"layers_block_type", ConfigRow::Use::harmless},   // read with the kinds of layers
    {"attn_layer_indices", ConfigRow::Use::harmless},  // the same
    {"attn_rotary_emb", ConfigRow::Use::read, "rope.dimension_count"},
    {"num_logits_to_keep", ConfigRow::Use::harmless},
    {"z_loss_coefficient", ConfigRow::Use::harmless},  // of training
    {"BambaForCausalLM", ConfigRow::Use::flag_of_class, "rope.scaling.finetuned", 1},
};
constexpr auto kGraniteHybridConfig = joined(kGraniteConfig, kGraniteExpertsConfig, kMambaConfig, kGraniteHybridOwnConfig);
constexpr TensorRow kGraniteHybridOwnTensors[] = {
    {"model.layers.{}.mamba.norm.weight", "blk.{}.ssm_norm.weight", StoredForm::state_norm},
};
constexpr auto kGraniteHybridTensors =
    joined(kGraniteMoeTensors, kMambaProjectionTensors, kMamba2Tensors, kPreFeedForwardTensors, kGraniteHybridOwnTensors);

}  // namespace

const Architecture kGranite = {.name = "granite",
                               .models = "Granite 3 (dense; in GGUF files with experts, too)",
                               .describe = describe_granite,
                               .gguf_rope = RopeStyle::interleaved,
                               .experts = true,
                               .keys = kGraniteKeys,
                               .hugging_face = {.classes = kGraniteClasses, .config = kGraniteConfig}};
const Architecture kGraniteMoe = {
    .name = "granitemoe",
    .models = "Granite 3 MoE",
    .describe = describe_granite,
    .gguf_rope = RopeStyle::interleaved,
    .experts = true,
    .keys = kGraniteKeys,
    .hugging_face = {.classes = kGraniteMoeClasses, .config = kGraniteMoeConfig, .tensors = kGraniteMoeTensors}};
const Architecture kGraniteHybrid = {.name = "granitehybrid",
                                     .models = "Granite 4, Bamba",
                                     .describe = describe_granite_hybrid,
                                     .gguf_rope = RopeStyle::interleaved,
                                     .experts = true,
                                     .recurrent = true,
                                     .keys = kGraniteHybridKeys,
                                     .hugging_face = {.classes = kGraniteHybridClasses,
                                                      .config = kGraniteHybridConfig,
                                                      .tensors = kGraniteHybridTensors,
                                                      .turns_partly = true,
                                                      .state_norm_by_version = true}};

}  // namespace wick
