// OLMo 2: norms behind attention and feed-forward part, none before them, and norms of all queries and all keys (OLMo Team 2024).
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_olmo2(const ModelConfig& config) {
  return config.decoder([&](int64_t layer) {
    AttentionSpec attention = config.attention(layer);
    attention.head_norms = HeadNorms::all_heads;
    LayerSpec made = config.layer(std::move(attention), config.feed_forward());
    made.blocks[0].norm.reset();
    made.blocks[0].post_norm = config.norm("post_attention_norm");
    made.blocks[1].norm.reset();
    made.blocks[1].post_norm = config.norm("post_ffw_norm");
    return made;
  });
}

constexpr std::string_view kOlmo2Classes[] = {"Olmo2ForCausalLM"};
constexpr TensorRow kOlmo2Tensors[] = {
    {"model.layers.{}.post_attention_layernorm.weight", "blk.{}.post_attention_norm.weight"},
    {"model.layers.{}.post_feedforward_layernorm.weight", "blk.{}.post_ffw_norm.weight"},
};

}  // namespace

const Architecture kOlmo2 = {
    .name = "olmo2", .models = "OLMo 2", .describe = describe_olmo2, .hugging_face = {.classes = kOlmo2Classes, .tensors = kOlmo2Tensors}};

}  // namespace wick
