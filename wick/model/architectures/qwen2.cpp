// Qwen 2 and 2.5: Llama's layers with biases on queries, keys and values, which are found by their tensors.
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_qwen2(const ModelConfig& config) {
  return config.decoder([&](int64_t layer) { return config.layer(config.attention(layer), config.feed_forward()); });
}

constexpr std::string_view kQwen2Classes[] = {"Qwen2ForCausalLM"};

}  // namespace

const Architecture kQwen2 = {
    .name = "qwen2", .models = "Qwen 2, Qwen 2.5, QwQ", .describe = describe_qwen2, .hugging_face = {.classes = kQwen2Classes}};

}  // namespace wick
