#include "wick/model/architectures/encoders.h"

#include <string_view>
#include <utility>
#include <variant>

#include "wick/base/fail.h"
#include "wick/formats/printable.h"

namespace wick {
namespace {

ScoreHeadSpec::Activation head_activation(const ModelConfig& config) {
  constexpr const char* kKey = "classifier.activation";
  const std::string_view word = config.keys.find_text(kKey).value_or("tanh");
  if (word == "tanh") return ScoreHeadSpec::Activation::tanh;
  if (word == "gelu") return ScoreHeadSpec::Activation::gelu;
  if (word == "relu") return ScoreHeadSpec::Activation::relu;
  const Checkpoint& file = config.keys.checkpoint();
  fail(ErrorCode::unsupported, "{}: {} = {} is not supported; this version knows tanh, gelu and relu", file.name(),
       file.where(config.keys.key(kKey)), printable(word));
}

}  // namespace

void make_encoder(DecoderSpec& spec, const ModelConfig& config) {
  const Checkpoint& file = config.keys.checkpoint();
  spec.encoder = true;
  spec.token_types = file.find_tensor("token_types.weight") != nullptr;
  spec.embedding_norm = config.norm("token_embd_norm", NormKind::layer);
  const CheckpointTensor* embedding = file.find_tensor("token_embd.weight");
  if (file.find_tensor("token_embd_proj.weight") != nullptr && embedding != nullptr && embedding->shape.rank() == 2) {
    spec.embedding_size = embedding->shape[1];
  }
  if (file.find_tensor("cls.output.weight") != nullptr) {
    spec.score_head = {.activation = head_activation(config)};
    if (config.keys.find_flag("classifier.tokens").value_or(false)) spec.score_head->input = ScoreHeadSpec::Input::each_token;
  } else {
    spec.unused.emplace_back("cls.");
  }
}

void attend_both_ways(DecoderSpec& spec, const KeyReader& keys) {
  const auto refuse = [&](std::string_view what) {
    constexpr const char* kKey = "attention.causal";
    const Checkpoint& file = keys.checkpoint();
    fail(ErrorCode::unsupported,
         "{}: {} = false: tokens would see later ones, which this version does not compute for {}; take a model without", file.name(),
         file.where(keys.key(kKey)), what);
  };
  if (spec.alternating) refuse("alternating updates");
  for (LayerSpec& layer : spec.layers) {
    for (BlockSpec& block : layer.blocks) {
      for (PartSpec& part : block.parts) {
        auto* attention = std::get_if<AttentionSpec>(&part.mixer);
        if (attention == nullptr) {
          const bool is_of_one_token =
              std::holds_alternative<FeedForwardSpec>(part.mixer) || std::holds_alternative<ExpertsSpec>(part.mixer);
          if (!is_of_one_token) refuse("layers other than attention");
          continue;
        }
        if (attention->retention.kind != Retention::Kind::full) refuse("windows");
        if (attention->alibi != 0) refuse("ALiBi");
        if (attention->cache_of >= 0) refuse("layers that share keys and values");
        attention->causal = false;
      }
    }
  }
  spec.encoder = true;
  spec.unused.insert(spec.unused.end(), {"output.weight", "output.bias"});
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
