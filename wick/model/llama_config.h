// A LlamaConfig is what the metadata of a GGUF file says about a Llama-like model's shape.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wick/formats/gguf.h"
#include "wick/model/rope_table.h"
#include "wick/op/op.h"

namespace wick {

// Between the two matrices of the feed-forward part: silu(gate) · up, or max(gate, 0)² · up.
enum class Activation { silu, squared_relu };

struct LlamaConfig {
  std::string architecture;
  int64_t layers = 0;
  int64_t width = 0;
  int64_t feed_forward_width = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t context_length = 0;
  float norm_epsilon = 1e-5F;
  RopeStyle rope_style = RopeStyle::interleaved;
  RopeConfig rope;
  Activation activation = Activation::silu;
  bool sub_norms = false;  // BitNet's: the inputs of attn_output and ffn_down are normalized too

  // The names of those that have Llama's layers.
  [[nodiscard]] static std::vector<std::string_view> architectures();
  // Reads and checks the keys "<architecture>.…". Errors: unsupported (an architecture or a feature that Wick has not), not_found,
  // corrupt_file for values that cannot be; each names file and key.
  [[nodiscard]] static LlamaConfig from_gguf(const GgufFile& file);
};

}  // namespace wick
