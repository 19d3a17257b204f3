// OLMo: layer norms without weights, and queries, keys and values within bounds (Groeneveld et al. 2024). OLMo 2: norms behind attention
// and feed-forward part, none before them, and norms of all queries and all keys (OLMo Team 2024). OLMo 3 has windows too, and its scaled
// RoPE in the layers without one alone.
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

constexpr int64_t kDefaultOlmo3Period = 4;

DecoderSpec describe_olmo(const ModelConfig& config) {
  const auto clamp = static_cast<float>(config.keys.find_positive_or_zero("attention.clamp_kqv").value_or(0));
  DecoderSpec spec = config.decoder(
      [&](int64_t layer) {
        AttentionSpec attention = config.attention(layer);
        attention.clamp = clamp;
        LayerSpec made = config.layer(std::move(attention), config.feed_forward(layer), NormKind::layer);
        for (BlockSpec& block : made.blocks) block.norm->bare = true;
        return made;
      },
      NormKind::layer);
  spec.output_norm->bare = true;
  return spec;
}

DecoderSpec describe_olmo2(const ModelConfig& config) {
  ModelConfig own = config;
  // Files of llama.cpp do not say which layers have the window.
  if (own.window > 0 && own.windowed.empty()) {
    for (int64_t layer = 0; layer < own.layers; ++layer) own.windowed.push_back(layer % kDefaultOlmo3Period < kDefaultOlmo3Period - 1);
  }
  DecoderSpec spec = own.decoder([&](int64_t layer) {
    AttentionSpec attention = own.attention(layer);
    attention.head_norms = HeadNorms::all_heads;
    attention.rope = own.window > 0 && own.windowed[static_cast<size_t>(layer)] ? 1 : 0;
    LayerSpec made = config.layer(std::move(attention), config.feed_forward(layer));
    made.blocks[0].norm.reset();
    made.blocks[0].post_norm = config.norm("post_attention_norm");
    made.blocks[1].norm.reset();
    made.blocks[1].post_norm = config.norm("post_ffw_norm");
    return made;
  });
  RopeConfig plain;
  plain.dims = own.rope.dims;
  plain.base = own.rope.base;
  spec.ropes.push_back(plain);
  return spec;
}

constexpr KeyRule kOlmoKeys[] = {{"attention.clamp_kqv"}};
constexpr std::string_view kOlmoClasses[] = {"OlmoForCausalLM"};
constexpr ConfigRow kOlmoConfig[] = {
    {"clip_qkv", ConfigRow::Use::read, "attention.clamp_kqv"},
    {"OlmoForCausalLM", ConfigRow::Use::of_class, "attention.layer_norm_epsilon", 1e-5},
    {"rms_norm_eps", ConfigRow::Use::harmless},
};
constexpr std::string_view kOlmo2Classes[] = {"Olmo2ForCausalLM", "Olmo3ForCausalLM"};
constexpr TensorRow kOlmo2Tensors[] = {
    {"model.layers.{}.post_attention_layernorm.weight", "blk.{}.post_attention_norm.weight"},
    {"model.layers.{}.post_feedforward_layernorm.weight", "blk.{}.post_ffw_norm.weight"},
};

}  // namespace

const Architecture kOlmo = {.name = "olmo",
                            .models = "OLMo (first)",
                            .describe = describe_olmo,
                            .gguf_rope = RopeStyle::interleaved,
                            .keys = kOlmoKeys,
                            .hugging_face = {.classes = kOlmoClasses, .config = kOlmoConfig}};
const Architecture kOlmo2 = {.name = "olmo2",
                             .models = "OLMo 2, OLMo 3",
                             .describe = describe_olmo2,
                             .hugging_face = {.classes = kOlmo2Classes, .tensors = kOlmo2Tensors}};

}  // namespace wick
