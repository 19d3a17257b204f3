// Llama (Touvron et al. 2023) and what has its layers: Mistral, with a window, and the many models that are trained in its form.
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_llama(const ModelConfig& config) {
  return config.decoder([&](int64_t layer) { return config.layer(config.attention(layer), config.feed_forward()); });
}

constexpr std::string_view kLlamaClasses[] = {"LlamaForCausalLM", "MistralForCausalLM"};

}  // namespace

// Converters of Llama's checkpoints interleave the rotated pairs.
const Architecture kLlama = {.name = "llama",
                             .models = "Llama 1 to 3.3, Mistral, SmolLM, Yi, TinyLlama",
                             .describe = describe_llama,
                             .gguf_rope = RopeStyle::interleaved,
                             .hugging_face = {.classes = kLlamaClasses}};

}  // namespace wick
