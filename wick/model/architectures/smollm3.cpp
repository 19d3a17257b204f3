// SmolLM 3: Llama's layers, of which every fourth does not rotate (Yang et al. 2025).
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

// Files of llama.cpp do not say which.
constexpr int64_t kUnrotatedPeriod = 4;

DecoderSpec describe_smollm3(const ModelConfig& config) {
  const std::vector<bool> rotated = config.rotated_layers(kUnrotatedPeriod);
  return config.decoder([&](int64_t layer) {
    AttentionSpec attention = config.attention(layer);
    if (!rotated[static_cast<size_t>(layer)]) attention.rope = -1;
    return config.layer(std::move(attention), config.feed_forward(layer));
  });
}

constexpr KeyRule kSmolLm3Keys[] = {{"rope.layers"}};
constexpr std::string_view kSmolLm3Classes[] = {"SmolLM3ForCausalLM"};
constexpr ConfigRow kSmolLm3Config[] = {
    {"no_rope_layer_interval", ConfigRow::Use::layer_flags, "rope.layers", static_cast<double>(kUnrotatedPeriod)},
    {"no_rope_layers", ConfigRow::Use::layer_flags, "rope.layers", static_cast<double>(kUnrotatedPeriod)},
};

}  // namespace

const Architecture kSmolLm3 = {.name = "smollm3",
                               .models = "SmolLM 3",
                               .describe = describe_smollm3,
                               .gguf_rope = RopeStyle::interleaved,
                               .keys = kSmolLm3Keys,
                               .hugging_face = {.classes = kSmolLm3Classes, .config = kSmolLm3Config, .tied_by_default = true}};

}  // namespace wick
