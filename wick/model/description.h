// The description of a decoder as data: layers are ordered lists of blocks, and a block is a norm, what is computed, and how the result
// joins the residual stream. An architecture writes it from a checkpoint's metadata; DecoderModel computes it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "wick/model/kv_layout.h"
#include "wick/model/rope_table.h"
#include "wick/nn/activation.h"
#include "wick/op/op.h"

namespace wick {

class Mixer;
class WeightReader;

// Root mean square (Zhang & Sennrich 2019), or mean and variance (Ba, Kiros & Hinton 2016).
enum class NormKind { rms, layer };

struct NormSpec {
  std::string name;  // of its tensors: "attn_norm" is "blk.N.attn_norm.weight", and ".bias" if there is one
  NormKind kind = NormKind::rms;
  float epsilon = 1e-5F;
};

// Queries and keys are normalized head by head, by one weight [head_dim], or all heads together, by [heads · head_dim].
enum class HeadNorms { none, each_head, all_heads };

// Grouped-query attention over the cache. Weights: attn_q, attn_k, attn_v, or attn_qkv with the three one behind the other, and
// attn_output; biases where the checkpoint has them.
struct AttentionSpec {
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  float scale = 1;                         // of query · key
  float softcap = 0;                       // 0: none
  Retention retention = {};                // the positions that it sees
  int rope = 0;                            // of DecoderSpec::ropes; -1: queries and keys are not rotated
  HeadNorms head_norms = HeadNorms::none;  // attn_q_norm, attn_k_norm
  std::optional<NormSpec> sub_norm = {};   // of the heads' results, before attn_output
  float norm_epsilon = 1e-5F;              // of head_norms
};

// down(activation(gate(x)) · up(x)), or down(activation(up(x))) without a gate. Weights: ffn_gate, ffn_up, ffn_down; a gate without a
// tensor of its own is the first half of ffn_up's rows.
struct FeedForwardSpec {
  int64_t width = 0;
  nn::ActivationKind activation = nn::ActivationKind::silu;
  bool gated = true;
  std::optional<NormSpec> sub_norm = {};  // before ffn_down
};

// What one architecture alone has: it is built in that architecture's file.
struct OwnSpec {
  std::string name;  // for people
  std::function<std::unique_ptr<Mixer>(WeightReader& weights, int64_t layer)> build;
};

struct PartSpec {
  std::variant<AttentionSpec, FeedForwardSpec, OwnSpec> mixer;
  std::optional<NormSpec> norm = {};  // of its own input, where parts of a block do not share the block's
};

// x += scale · post_norm(Σ part(norm(x))).
struct BlockSpec {
  std::optional<NormSpec> norm = {};
  std::vector<PartSpec> parts;  // several: in parallel
  std::optional<NormSpec> post_norm = {};
  float residual_scale = 1;
};

struct LayerSpec {
  std::vector<BlockSpec> blocks;
};

struct DecoderSpec {
  int64_t hidden_size = 0;
  int64_t context_length = 0;
  std::vector<LayerSpec> layers;
  std::vector<RopeConfig> ropes;
  RopeStyle rope_style = RopeStyle::half_split;  // of the weights' rows, as the checkpoint has them
  bool learned_positions = false;                // position_embd is added to the embedding
  float embedding_scale = 1;
  NormSpec output_norm = {"output_norm"};
  float logit_scale = 1;
  float logit_softcap = 0;  // logits become softcap · tanh(logit / softcap); 0: they stay
};

// What a layer's parts are, in one line: "attention 4 heads of 16, 2 kv heads, window 16, …".
[[nodiscard]] std::string describe_layer(const LayerSpec& layer);
// The description, a line for each run of equal layers, for `wick inspect --layers`.
[[nodiscard]] std::vector<std::string> describe_model(const DecoderSpec& model);

}  // namespace wick
