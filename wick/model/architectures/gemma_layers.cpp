#include "wick/model/architectures/gemma_layers.h"

#include <fmt/format.h>

namespace wick {
namespace {

constexpr double kLocalRopeBase = 10000;

bool is_local(const ModelConfig& config, int64_t layer) { return config.window > 0 && config.windowed[static_cast<size_t>(layer)]; }

// The last layer of the same kind before `owners`; -1: none.
int64_t owner_of(const ModelConfig& config, int64_t layer, int64_t owners) {
  int64_t owner = owners - 1;
  while (owner >= 0 && is_local(config, owner) != is_local(config, layer)) --owner;
  return owner;
}

}  // namespace

ModelConfig with_local_layers(const ModelConfig& config, int64_t local) {
  ModelConfig own = config;
  if (!own.windowed.empty()) return own;
  for (int64_t layer = 0; layer < own.layers; ++layer) own.windowed.push_back(layer % (local + 1) != local);
  return own;
}

int64_t shared_layers(const ModelConfig& config, int64_t usual) {
  const char* const name = "attention.shared_kv_layers";
  const std::optional<double> said = config.keys.find_number(name);
  const double shared = said.value_or(static_cast<double>(usual));
  if (!(shared >= 0) || shared >= static_cast<double>(config.layers)) {
    config.keys.fail_value(name, fmt::format("{}", shared), fmt::format("there are {} layers", config.layers));
  }
  const auto count = static_cast<int64_t>(shared), owners = config.layers - count;
  for (int64_t layer = owners; layer < config.layers; ++layer) {
    if (owner_of(config, layer, owners) >= 0) continue;
    config.keys.fail_value(name, std::to_string(count),
                           fmt::format("no layer before them has the keys and values of layer {}'s kind", layer));
  }
  return count;
}

AttentionSpec gemma_attention(const ModelConfig& config, int64_t layer, int64_t owners) {
  AttentionSpec attention = config.attention(layer);
  attention.head_norms = HeadNorms::each_head;
  attention.normalizes_values = true;
  attention.scale = 1;
  if (is_local(config, layer)) {
    attention.rope = 1;
    attention.head_dim = config.keys.size_or("attention.key_length_swa", config.head_dim);
  }
  if (layer >= owners) attention.cache_of = owner_of(config, layer, owners);
  return attention;
}

void add_local_rope(DecoderSpec& spec, const ModelConfig& config) {
  RopeConfig local;
  const int64_t head_dim = config.keys.size_or("attention.key_length_swa", config.head_dim);
  local.dims = config.keys.size_or("rope.dimension_count_swa", std::min(head_dim, config.rope.dims));
  local.base = config.keys.positive_or("rope.freq_base_swa", kLocalRopeBase);
  if (local.dims % 2 != 0 || local.dims > head_dim) {
    config.keys.fail_value("rope.dimension_count_swa", std::to_string(local.dims),
                           fmt::format("want an even number up to the head's {}", head_dim));
  }
  spec.ropes.push_back(local);
}

void leave_out_shared(DecoderSpec& spec, int64_t owners) {
  for (int64_t layer = owners; layer < std::ssize(spec.layers); ++layer) {
    for (const char* name : {"attn_k", "attn_v", "attn_k_norm"}) spec.unused.push_back(fmt::format("blk.{}.{}.", layer, name));
  }
}

}  // namespace wick
