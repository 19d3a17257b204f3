// Granite 3 and 4 (dense): Llama's layers with factors for the embedding, the residual stream, the scores and the logits.
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_granite(const ModelConfig& config) {
  const auto factor = [&](const char* name) { return config.keys.find_positive_or_zero(name).value_or(1); };
  DecoderSpec spec = config.decoder([&](int64_t layer) {
    LayerSpec made = config.layer(config.attention(layer), config.feed_forward());
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
constexpr ConfigRow kGraniteConfig[] = {
    {"embedding_multiplier", ConfigRow::Use::read, "embedding_scale"},
    {"residual_multiplier", ConfigRow::Use::read, "residual_scale"},
    {"attention_multiplier", ConfigRow::Use::read, "attention.scale"},
    {"logits_scaling", ConfigRow::Use::read, "logit_scale"},
};

}  // namespace

const Architecture kGranite = {.name = "granite",
                               .models = "Granite 3 (dense)",
                               .describe = describe_granite,
                               .gguf_rope = RopeStyle::interleaved,
                               .keys = kGraniteKeys,
                               .hugging_face = {.classes = kGraniteClasses, .config = kGraniteConfig}};

}  // namespace wick
