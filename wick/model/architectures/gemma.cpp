// Gemma (Gemma Team 2024): Llama's layers with GELU gates, norms of 1 + weight, and an embedding scaled by the root of its width.
#include <cmath>

#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_gemma(const ModelConfig& config) {
  DecoderSpec spec = config.decoder([&](int64_t layer) { return config.layer(config.attention(layer), config.feed_forward(layer)); });
  spec.embedding_scale = std::sqrt(static_cast<float>(config.hidden_size));
  return spec;
}

constexpr std::string_view kGemmaClasses[] = {"GemmaForCausalLM"};
constexpr ConfigRow kGemmaConfig[] = {
    {"hidden_act", ConfigRow::Use::harmless},  // "gelu" in old configurations, where its approximation by tanh is meant
    {"hidden_activation", ConfigRow::Use::read, "hidden_act"},
};

}  // namespace

const Architecture kGemma = {.name = "gemma",
                             .models = "Gemma, CodeGemma",
                             .describe = describe_gemma,
                             .activation = nn::ActivationKind::gelu_pytorch_tanh,
                             .hugging_face = {.classes = kGemmaClasses, .config = kGemmaConfig, .tied_by_default = true, .norm_offset = 1}};

}  // namespace wick
