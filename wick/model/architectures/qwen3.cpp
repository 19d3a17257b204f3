// Qwen 3: Llama's layers with a norm of each head's queries and keys (Yang et al. 2025).
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_qwen3(const ModelConfig& config) {
  return config.decoder([&](int64_t layer) {
    AttentionSpec attention = config.attention(layer);
    attention.head_norms = HeadNorms::each_head;
    return config.layer(std::move(attention), config.feed_forward());
  });
}

constexpr std::string_view kQwen3Classes[] = {"Qwen3ForCausalLM"};

}  // namespace

const Architecture kQwen3 = {.name = "qwen3",
                             .models = "Qwen 3",
                             .describe = describe_qwen3,
                             .scaled_feed_forward = true,
                             .hugging_face = {.classes = kQwen3Classes}};

}  // namespace wick
