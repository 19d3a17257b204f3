// Qwen 2 and 2.5: Llama's layers with biases on queries, keys and values, which are found by their tensors. Qwen 2 VL and 2.5 VL have the
// same text model; parts of their heads turn by places in images, which are the same for a text.
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_qwen2(const ModelConfig& config) {
  return config.decoder([&](int64_t layer) { return config.layer(config.attention(layer), config.feed_forward(layer)); });
}

constexpr std::string_view kQwen2Classes[] = {"Qwen2ForCausalLM"};
constexpr KeyRule kQwen2VlKeys[] = {{"rope.dimension_sections"}};
constexpr std::string_view kQwen2VlClasses[] = {"Qwen2VLForConditionalGeneration", "Qwen2_5_VLForConditionalGeneration"};
constexpr ConfigRow kQwen2VlConfig[] = {
    {"Qwen2VLForConditionalGeneration", ConfigRow::Use::of_class, "rope.freq_base", 1e6},
    {"Qwen2_5_VLForConditionalGeneration", ConfigRow::Use::of_class, "rope.freq_base", 1e6},
};

}  // namespace

const Architecture kQwen2 = {
    .name = "qwen2", .models = "Qwen 2, Qwen 2.5, QwQ", .describe = describe_qwen2, .hugging_face = {.classes = kQwen2Classes}};
const Architecture kQwen2Vl = {.name = "qwen2vl",
                               .models = "Qwen 2 VL, Qwen 2.5 VL (text)",
                               .describe = describe_qwen2,
                               .keys = kQwen2VlKeys,
                               .hugging_face = {.classes = kQwen2VlClasses, .config = kQwen2VlConfig}};

}  // namespace wick
