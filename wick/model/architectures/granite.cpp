// Granite 3 and 4 (but for those with a recurrence): Llama's layers, some with experts, with factors for the embedding, the residual
// stream, the scores and the logits.
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_granite(const ModelConfig& config) {
  const auto factor = [&](const char* name) { return config.keys.find_positive_or_zero(name).value_or(1); };
  const ExpertsSpec experts = config.experts(Routing::softmax_of_used, false);
  DecoderSpec spec = config.decoder([&](int64_t layer) {
    LayerSpec made = config.layer(config.attention(layer), config.feed_forward_parts(layer, experts));
    for (BlockSpec& block : made.blocks) block.residual_scale = static_cast<float>(factor("residual_scale"));
    return made;
  });
  spec.embedding_scale = static_cast<float>(factor("embedding_scale"));
  // It divides.
  spec.logit_scale = static_cast<float>(1 / factor("logit_scale"));
  return spec;
}

constexpr KeyRule kGraniteKeys[] = {{"embedding_scale"}, {"residual_scale"}, {"logit_scale"}};
constexpr std::string_view kGraniteClasses[] = {"GraniteForCausalLM"};
constexpr std::string_view kGraniteMoeClasses[] = {"GraniteMoeForCausalLM", "GraniteMoeSharedForCausalLM"};
constexpr ConfigRow kGraniteConfig[] = {
    {"embedding_multiplier", ConfigRow::Use::read, "embedding_scale"},
    {"residual_multiplier", ConfigRow::Use::read, "residual_scale"},
    {"attention_multiplier", ConfigRow::Use::read, "attention.scale"},
    {"logits_scaling", ConfigRow::Use::read, "logit_scale"},
};

constexpr ConfigRow kGraniteMoeConfig[] = {
    {"embedding_multiplier", ConfigRow::Use::read, "embedding_scale"},
    {"residual_multiplier", ConfigRow::Use::read, "residual_scale"},
    {"attention_multiplier", ConfigRow::Use::read, "attention.scale"},
    {"logits_scaling", ConfigRow::Use::read, "logit_scale"},
    {"num_local_experts", ConfigRow::Use::read, "expert_count"},
    {"num_experts_per_tok", ConfigRow::Use::read, "expert_used_count"},
    {"shared_intermediate_size", ConfigRow::Use::read, "expert_shared_feed_forward_length"},
};
constexpr TensorRow kGraniteMoeTensors[] = {
    {"model.layers.{}.block_sparse_moe.router.layer.weight", "blk.{}.ffn_gate_inp.weight"},
    {"model.layers.{}.block_sparse_moe.input_linear.weight", "blk.{}.ffn_gate_exps.weight", StoredForm::halves,
     "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.block_sparse_moe.output_linear.weight", "blk.{}.ffn_down_exps.weight"},
    {"model.layers.{}.shared_mlp.input_linear.weight", "blk.{}.ffn_gate_shexp.weight", StoredForm::halves, "blk.{}.ffn_up_shexp.weight"},
    {"model.layers.{}.shared_mlp.output_linear.weight", "blk.{}.ffn_down_shexp.weight"},
};

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

}  // namespace wick
