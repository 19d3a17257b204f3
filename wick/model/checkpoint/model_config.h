// A ModelConfig is what a checkpoint's metadata says about a decoder's sizes, checked, for an architecture to describe its layers from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/description.h"
#include "wick/model/rope_table.h"

namespace wick {

// Reads keys under the architecture's prefix; errors name file, key and value.
class KeyReader {
 public:
  KeyReader(const Checkpoint& checkpoint, std::string_view architecture)
      : checkpoint_(&checkpoint), prefix_(std::string(architecture) + ".") {}

  [[nodiscard]] std::string key(std::string_view name) const { return prefix_ + std::string(name); }
  [[nodiscard]] const Checkpoint& checkpoint() const noexcept { return *checkpoint_; }

  [[nodiscard]] bool has(std::string_view name) const { return checkpoint_->find(key(name)) != nullptr; }
  // From 1 to 2^31.
  [[nodiscard]] int64_t size(std::string_view name) const;
  [[nodiscard]] int64_t size_or(std::string_view name, int64_t fallback) const;
  // One number for each of `layers` layers, from 0 to 2^31: an array's, or the same for all; empty if the key is absent.
  [[nodiscard]] std::vector<int64_t> sizes(std::string_view name, int64_t layers) const;
  [[nodiscard]] double positive_or(std::string_view name, double fallback) const;
  // A positive number; none where the key is absent or 0, as in files that llama.cpp saves.
  [[nodiscard]] std::optional<double> find_positive_or_zero(std::string_view name) const;
  [[nodiscard]] std::optional<double> find_number(std::string_view name) const;
  [[nodiscard]] std::optional<bool> find_flag(std::string_view name) const;
  // Whether a flag, or a number other than 0, is there; none where the key is absent.
  [[nodiscard]] std::optional<bool> find_choice(std::string_view name) const;
  [[nodiscard]] std::optional<std::string_view> find_text(std::string_view name) const;
  // The activation of that name; `fallback` where the key is absent.
  [[nodiscard]] nn::ActivationKind activation_or(std::string_view name, nn::ActivationKind fallback) const;

  [[noreturn]] void fail_value(std::string_view name, const std::string& value, std::string_view want) const;

 private:
  [[nodiscard]] int64_t check_size(std::string_view name, uint64_t value) const;

  const Checkpoint* checkpoint_;
  std::string prefix_;
};

struct ModelConfig {
  KeyReader keys;
  int64_t layers = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;  // of the feed-forward part
  int64_t heads = 0;
  int64_t kv_heads = 0;
  // Numbers of each layer, if a file gives arrays with different values; empty: as above.
  std::vector<int64_t> heads_of = {}, kv_heads_of = {}, intermediate_of = {};
  int64_t head_dim = 0;
  int64_t value_dim = 0;  // of a head; head_dim but with latent attention
  int64_t context_length = 0;
  float norm_epsilon = 1e-5F;
  double attention_scale = 0;  // 0: the file says nothing
  int64_t window = 0;          // 0: layers see all positions
  std::vector<bool> windowed;  // for each layer; empty: the file says nothing
  RopeConfig rope;
  RopeStyle rope_style = RopeStyle::half_split;
  nn::ActivationKind activation = nn::ActivationKind::silu;  // of the feed-forward part

  // Errors: not_found, corrupt_file for values that cannot be, unsupported for those that Wick has not.
  [[nodiscard]] static ModelConfig read(const Checkpoint& checkpoint, const Architecture& architecture);

  // Grouped-query attention and gated feed-forward as the sizes have them. `layer` decides the window: as `windowed` says; without it all
  // layers have the window, if there is one.
  [[nodiscard]] AttentionSpec attention(int64_t layer) const;
  [[nodiscard]] FeedForwardSpec feed_forward(int64_t layer) const;
  [[nodiscard]] FeedForwardSpec ungated_feed_forward(int64_t layer) const;
  // Which layers rotate queries and keys: those that "rope.layers" says, or all but each `unrotated`-th.
  [[nodiscard]] std::vector<bool> rotated_layers(int64_t unrotated) const;
  // Takes the layers away that predict more tokens at once, which files count with the others. Errors: corrupt_file if they are all.
  void drop_further_layers();
  // Whether experts' weights are normalized, as files say it; `fallback` where they do not.
  [[nodiscard]] bool normalizes_experts(bool fallback) const { return keys.find_flag("expert_weights_norm").value_or(fallback); }
  // A mixture of experts as the metadata have it. `usual` and `normalized` are the architecture's, where its files do not say. Errors: also
  // unsupported for a routing that does not exist.
  [[nodiscard]] ExpertsSpec experts(Routing usual, bool normalized) const;
  // Whether the layer has keys and values: of recurrent architectures, some have not.
  [[nodiscard]] bool attends(int64_t layer) const { return (kv_heads_of.empty() ? kv_heads : kv_heads_of[static_cast<size_t>(layer)]) > 0; }
  // Which layers keep a state in the place of keys and values: "attention.recurrent_layers", or all but each n-th.
  [[nodiscard]] std::vector<bool> recurrent_layers(int64_t usual_interval) const;
  // Whether it has a feed-forward part.
  [[nodiscard]] bool feeds_forward(int64_t layer) const {
    return (intermediate_of.empty() ? intermediate_size : intermediate_of[static_cast<size_t>(layer)]) > 0;
  }
  // Mamba 2's layers as "ssm." keys have them. Errors: corrupt_file for sizes that do not fit each other.
  [[nodiscard]] StateSpaceSpec state_space() const;
  // Latent attention as its keys have it. Errors: corrupt_file for sizes that do not fit each other.
  [[nodiscard]] LatentAttentionSpec latent_attention() const;
  // Mamba's, the same.
  [[nodiscard]] SelectiveScanSpec selective_scan() const;
  // The parts of layer `index` behind its ffn_norm: experts and those that all tokens share, where it has a router, and else
  // feed_forward(index).
  [[nodiscard]] std::vector<PartSpec> feed_forward_parts(int64_t index, const ExpertsSpec& experts) const;
  // A softcap: positive, or 0 for none.
  [[nodiscard]] float cap_or(std::string_view name, double usual) const;
  [[nodiscard]] NormSpec norm(std::string name, NormKind kind = NormKind::rms) const { return {std::move(name), kind, norm_epsilon}; }
  // Sizes, ropes and the output norm, with `layer(index)` for each layer.
  [[nodiscard]] DecoderSpec decoder(const std::function<LayerSpec(int64_t)>& layer, NormKind output_norm = NormKind::rms) const;
  // The usual pre-norm layer: x += attention(attn_norm(x)); x += feed_forward(ffn_norm(x)).
  [[nodiscard]] LayerSpec layer(AttentionSpec attention, FeedForwardSpec feed_forward, NormKind norms = NormKind::rms) const;
  // The same with several parts in parallel in the place of feed_forward.
  [[nodiscard]] LayerSpec layer(AttentionSpec attention, std::vector<PartSpec> parts, NormKind norms = NormKind::rms) const;
  // x += attention(attn_norm(x)) + feed_forward(attn_norm(x)).
  [[nodiscard]] LayerSpec parallel_layer(AttentionSpec attention, FeedForwardSpec feed_forward, NormKind norms = NormKind::rms) const;
};

}  // namespace wick
