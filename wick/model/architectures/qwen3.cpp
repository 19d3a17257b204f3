// Qwen 3: Llama's layers with a norm of each head's queries and keys (Yang et al. 2025). Qwen 3 VL has the same text model.
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_qwen3(const ModelConfig& config) {
  return config.decoder([&](int64_t layer) {
    AttentionSpec attention = config.attention(layer);
    attention.head_norms = HeadNorms::each_head;
    return config.layer(std::move(attention), config.feed_forward(layer));
  });
}

constexpr std::string_view kQwen3Classes[] = {"Qwen3ForCausalLM"};
constexpr ConfigRow kQwen3Config[] = {{"Qwen3ForCausalLM", ConfigRow::Use::of_class, "attention.key_length", 128}};
// What images add to the first layers' results is nothing for a text.
constexpr KeyRule kQwen3VlKeys[] = {{"rope.dimension_sections"}, {"n_deepstack_layers", KeyUse::harmless}};
constexpr std::string_view kQwen3VlClasses[] = {"Qwen3VLForConditionalGeneration"};
constexpr ConfigRow kQwen3VlConfig[] = {
    {"Qwen3VLForConditionalGeneration", ConfigRow::Use::of_class, "attention.key_length", 128},
    {"Qwen3VLForConditionalGeneration", ConfigRow::Use::of_class, "rope.freq_base", 500000},
};

}  // namespace

const Architecture kQwen3 = {.name = "qwen3",
                             .models = "Qwen 3, Qwen 3 Embedding",
                             .describe = describe_qwen3,
                             .scaled_feed_forward = true,
                             .hugging_face = {.classes = kQwen3Classes, .config = kQwen3Config}};
const Architecture kQwen3Vl = {.name = "qwen3vl",
                               .models = "Qwen 3 VL (text)",
                               .describe = describe_qwen3,
                               .scaled_feed_forward = true,
                               .keys = kQwen3VlKeys,
                               .hugging_face = {.classes = kQwen3VlClasses, .config = kQwen3VlConfig}};

}  // namespace wick
