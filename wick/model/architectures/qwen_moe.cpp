// Qwen 2's and 3's mixtures of experts: their attention; Qwen 2 MoE has a shared expert too, with a gate of its own (Yang et al. 2024).
// OLMoE has queries and keys normalized together (Muennighoff et al. 2024). Layers without a router have a feed-forward part alone.
#include "wick/model/architectures/expert_rows.h"
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_moe(const ModelConfig& config, HeadNorms norms, bool normalized) {
  const KeyReader& keys = config.keys;
  const ExpertsSpec experts = config.experts(Routing::softmax, keys.find_flag("expert_weights_normalized").value_or(normalized));
  const auto clamp = static_cast<float>(keys.find_positive_or_zero("attention.clamp_kqv").value_or(0));
  return config.decoder([&](int64_t layer) {
    AttentionSpec attention = config.attention(layer);
    attention.head_norms = norms;
    attention.clamp = clamp;
    return config.layer(std::move(attention), config.feed_forward_parts(layer, experts));
  });
}

DecoderSpec describe_qwen2moe(const ModelConfig& config) { return describe_moe(config, HeadNorms::none, false); }
DecoderSpec describe_qwen3moe(const ModelConfig& config) { return describe_moe(config, HeadNorms::each_head, true); }
DecoderSpec describe_olmoe(const ModelConfig& config) { return describe_moe(config, HeadNorms::all_heads, false); }

// expert_weights_norm, which means the same, is false in files that llama.cpp saves of any of them.
constexpr KeyRule kQwenMoeKeys[] = {{"expert_weights_normalized"}};
constexpr KeyRule kOlmoeKeys[] = {{"expert_weights_normalized"}, {"attention.clamp_kqv"}};
constexpr std::string_view kQwen2MoeClasses[] = {"Qwen2MoeForCausalLM"};
constexpr std::string_view kQwen3MoeClasses[] = {"Qwen3MoeForCausalLM"};
constexpr std::string_view kOlmoeClasses[] = {"OlmoeForCausalLM"};
// llama.cpp's files do not say whether weights are normalized; configurations that do not mean that they are not.
constexpr ConfigRow kQwen2MoeOwnConfig[] = {
    {"num_local_experts", ConfigRow::Use::read, "expert_count"},
    {"qkv_bias", ConfigRow::Use::harmless},
};
constexpr auto kQwen2MoeConfig = joined(kQwenExpertConfig, kQwenSharedExpertConfig, kQwen2MoeOwnConfig);
constexpr ConfigRow kQwen3MoeOwnConfig[] = {
    {"num_local_experts", ConfigRow::Use::read, "expert_count"},
    {"max_window_layers", ConfigRow::Use::harmless},  // all layers have the window
    {"Qwen3MoeForCausalLM", ConfigRow::Use::flag_of_class, "expert_weights_normalized", 0},
};
constexpr auto kQwen3MoeConfig = joined(kQwenExpertConfig, kQwen3MoeOwnConfig);
constexpr ConfigRow kOlmoeConfig[] = {
    {"num_experts", ConfigRow::Use::read, "expert_count"},
    {"num_experts_per_tok", ConfigRow::Use::read, "expert_used_count"},
    {"norm_topk_prob", ConfigRow::Use::read, "expert_weights_normalized"},
    {"clip_qkv", ConfigRow::Use::read, "attention.clamp_kqv"},
};

}  // namespace

const Architecture kQwen2Moe = {.name = "qwen2moe",
                                .models = "Qwen 1.5 MoE, Qwen 2 57B-A14B",
                                .describe = describe_qwen2moe,
                                .experts = true,
                                .keys = kQwenMoeKeys,
                                .hugging_face = {.classes = kQwen2MoeClasses, .config = kQwen2MoeConfig, .tensors = kQwenExpertTensors}};
const Architecture kQwen3Moe = {.name = "qwen3moe",
                                .models = "Qwen 3 30B-A3B and 235B-A22B, Qwen 3 Coder",
                                .describe = describe_qwen3moe,
                                .experts = true,
                                .scaled_feed_forward = true,
                                .keys = kQwenMoeKeys,
                                .hugging_face = {.classes = kQwen3MoeClasses, .config = kQwen3MoeConfig, .tensors = kQwenExpertTensors}};
const Architecture kOlmoe = {.name = "olmoe",
                             .models = "OLMoE",
                             .describe = describe_olmoe,
                             .experts = true,
                             .keys = kOlmoeKeys,
                             .hugging_face = {.classes = kOlmoeClasses, .config = kOlmoeConfig, .tensors = kQwenExpertTensors}};

}  // namespace wick
