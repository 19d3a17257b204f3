#include "wick/model/architectures/encoder_decoders.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "wick/base/fail.h"
#include "wick/model/checkpoint/metadata_keys.h"

namespace wick {

ModelConfig decoder_config(const ModelConfig& config) {
  ModelConfig own = config;
  own.layers = config.keys.size_or("decoder_block_count", config.layers);
  own.heads = own.kv_heads = config.keys.size_or("decoder.attention.head_count", config.heads);
  own.intermediate_size = config.keys.size_or("decoder.feed_forward_length", config.intermediate_size);
  if (own.heads == config.heads) return own;
  if (config.hidden_size % own.heads != 0) {
    config.keys.fail_value("decoder.attention.head_count", std::to_string(own.heads),
                           fmt::format("it must divide embedding_length {}", config.hidden_size));
  }
  own.head_dim = config.hidden_size / own.heads;
  return own;
}

CrossAttentionSpec attention_to_source(const AttentionSpec& self) {
  return {.heads = self.heads, .head_dim = self.head_dim, .scale = self.scale};
}

void write_from_source(DecoderSpec& decoder, DecoderSpec encoder, const ModelConfig& config) {
  const KeyReader& keys = config.keys;
  const Checkpoint& file = keys.checkpoint();
  const CheckpointTensor* embedding = file.find_tensor("token_embd.weight");
  const auto vocabulary = static_cast<uint64_t>(embedding == nullptr || embedding->shape.rank() == 0 ? 0 : embedding->shape[0]);
  const auto add_token = [&](const char* name, uint64_t token) {
    if (vocabulary > 0 && token >= vocabulary)
      keys.fail_value(name, std::to_string(token), fmt::format("the vocabulary has {} tokens", vocabulary));
    decoder.target_start.push_back(static_cast<int32_t>(token));
  };
  constexpr const char* kStart = "decoder_start_token_id";
  constexpr const char* kForced = "forced_bos_token_id";
  const std::optional<uint64_t> start = file.find_uint(keys.key(kStart));
  if (!start) {
    fail(ErrorCode::not_found, "{}: {} is missing: an encoder–decoder begins what it writes with that token; add it", file.name(),
         file.where(keys.key(kStart)));
  }
  add_token(kStart, *start);
  if (const std::optional<uint64_t> forced = file.find_uint(keys.key(kForced))) add_token(kForced, *forced);
  encoder.prefix = kEncoderPrefix;
  decoder.prefix = kDecoderPrefix;
  decoder.source = std::make_shared<const DecoderSpec>(std::move(encoder));
}

}  // namespace wick
