#include "wick/model/architectures/encoders.h"

#include <utility>

namespace wick {

void make_encoder(DecoderSpec& spec, const ModelConfig& config) {
  const Checkpoint& file = config.keys.checkpoint();
  spec.encoder = true;
  spec.token_types = file.find_tensor("token_types.weight") != nullptr;
  spec.embedding_norm = config.norm("token_embd_norm", NormKind::layer);
  if (file.find_tensor("cls.output.weight") != nullptr) {
    spec.score_head.emplace();
  } else {
    spec.unused.emplace_back("cls.");
  }
}

DecoderSpec describe_post_norm_encoder(const ModelConfig& config, const std::function<FeedForwardSpec(int64_t)>& feed_forward, int rope) {
  DecoderSpec spec = config.decoder(
      [&](int64_t layer) {
        AttentionSpec attention = config.attention(layer);
        attention.causal = false;
        attention.rope = rope;
        return LayerSpec{{{.parts = {{std::move(attention)}}, .sum_norm = config.norm("attn_output_norm", NormKind::layer)},
                          {.parts = {{feed_forward(layer)}}, .sum_norm = config.norm("layer_output_norm", NormKind::layer)}}};
      },
      NormKind::layer);
  spec.output_norm.reset();
  make_encoder(spec, config);
  return spec;
}

}  // namespace wick
