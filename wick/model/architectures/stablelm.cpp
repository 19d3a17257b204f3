// StableLM: Llama's layers with layer norms and a RoPE of a part of each head; the larger ones add attention and feed-forward part to one
// residual stream in parallel.
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_stablelm(const ModelConfig& config) {
  // Without a norm of its own, the feed-forward part takes attention's input.
  const bool norms = config.keys.checkpoint().find_tensor("blk.0.attn_q_norm.weight") != nullptr;
  const bool parallel = config.keys.checkpoint().find_tensor("blk.0.ffn_norm.weight") == nullptr;
  return config.decoder(
      [&](int64_t layer) {
        AttentionSpec attention = config.attention(layer);
        if (norms) attention.head_norms = HeadNorms::own;
        if (parallel) return config.parallel_layer(std::move(attention), config.feed_forward(layer), NormKind::layer);
        return config.layer(std::move(attention), config.feed_forward(layer), NormKind::layer);
      },
      NormKind::layer);
}

constexpr KeyRule kStableLmKeys[] = {{"use_parallel_residual"}};
constexpr std::string_view kStableLmClasses[] = {"StableLmForCausalLM"};
constexpr ConfigRow kStableLmConfig[] = {
    {"layer_norm_eps", ConfigRow::Use::read, "attention.layer_norm_epsilon"},
    {"use_parallel_residual", ConfigRow::Use::read, "use_parallel_residual"},
    {"use_qkv_bias", ConfigRow::Use::harmless},  // the tensors tell
    {"qk_layernorm", ConfigRow::Use::harmless},
};
constexpr TensorRow kStableLmTensors[] = {
    {"model.layers.{}.self_attn.q_layernorm.norms.{}.weight", "blk.{}.attn_q_norm.weight"},
    {"model.layers.{}.self_attn.k_layernorm.norms.{}.weight", "blk.{}.attn_k_norm.weight"},
};

}  // namespace

const Architecture kStableLm = {
    .name = "stablelm",
    .models = "StableLM 3B, StableLM 2",
    .describe = describe_stablelm,
    .keys = kStableLmKeys,
    .hugging_face = {.classes = kStableLmClasses, .config = kStableLmConfig, .tensors = kStableLmTensors, .usual_rotary_factor = 0.25}};

}  // namespace wick
