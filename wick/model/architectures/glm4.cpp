// GLM 4 (0414): norms before and after each part, one matrix for gate and up, interleaved pairs in half of each head.
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_glm4(const ModelConfig& config) {
  ModelConfig own = config;
  // With pairs for pictures (GLM 4.1V), which are halves.
  const GgufArray* sections = config.keys.checkpoint().find_array(config.keys.key("rope.dimension_sections"));
  if (sections != nullptr && sections->size > 1 && sections->to_vector<int64_t>()[0] > 0) own.rope_style = RopeStyle::half_split;
  return own.decoder([&](int64_t layer) {
    LayerSpec made = config.layer(config.attention(layer), config.feed_forward(layer));
    made.blocks[0].post_norm = config.norm("post_attention_norm");
    made.blocks[1].post_norm = config.norm("post_ffw_norm");
    return made;
  });
}

constexpr KeyRule kGlm4Keys[] = {{"rope.dimension_sections"}};
constexpr std::string_view kGlm4Classes[] = {"Glm4ForCausalLM"};
constexpr TensorRow kGlm4Tensors[] = {
    {"model.layers.{}.post_self_attn_layernorm.weight", "blk.{}.post_attention_norm.weight"},
    {"model.layers.{}.post_mlp_layernorm.weight", "blk.{}.post_ffw_norm.weight"},
};

}  // namespace

const Architecture kGlm4 = {
    .name = "glm4",
    .models = "GLM 4 (0414)",
    .describe = describe_glm4,
    .gguf_rope = RopeStyle::interleaved,
    .keys = kGlm4Keys,
    .hugging_face = {.classes = kGlm4Classes, .tensors = kGlm4Tensors, .rope = RopeStyle::interleaved, .usual_rotary_factor = 0.5}};

}  // namespace wick
