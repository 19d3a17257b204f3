// EXAONE 4: norms behind attention and feed-forward part, none before them, and a norm of each head's queries and keys; where there are
// windows, only the layers with one rotate (LG AI Research 2025).
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

// Of the layers with a window, where a file does not say: every fourth has none.
constexpr int64_t kDefaultExaone4Period = 4;
constexpr int64_t kLayersOfWindowed = 64;

DecoderSpec describe_exaone4(const ModelConfig& config) {
  ModelConfig own = config;
  // Of a file that does not say which layers have it, the window counts in the model with 64 layers alone, as in llama.cpp.
  if (own.windowed.empty() && own.layers != kLayersOfWindowed) own.window = 0;
  if (own.window > 0 && own.windowed.empty()) {
    for (int64_t layer = 0; layer < own.layers; ++layer) own.windowed.push_back(layer % kDefaultExaone4Period < kDefaultExaone4Period - 1);
  }
  return own.decoder([&](int64_t layer) {
    AttentionSpec attention = own.attention(layer);
    attention.head_norms = HeadNorms::each_head;
    if (own.window > 0 && !own.windowed[static_cast<size_t>(layer)]) attention.rope = -1;
    LayerSpec made = own.layer(std::move(attention), own.feed_forward(layer));
    made.blocks[0].norm.reset();
    made.blocks[0].post_norm = own.norm("post_attention_norm");
    made.blocks[1].norm.reset();
    made.blocks[1].post_norm = own.norm("post_ffw_norm");
    return made;
  });
}

constexpr std::string_view kExaone4Classes[] = {"Exaone4ForCausalLM"};
constexpr TensorRow kExaone4Tensors[] = {
    {"model.layers.{}.post_attention_layernorm.weight", "blk.{}.post_attention_norm.weight"},
    {"model.layers.{}.post_feedforward_layernorm.weight", "blk.{}.post_ffw_norm.weight"},
};

}  // namespace

const Architecture kExaone4 = {.name = "exaone4",
                               .models = "EXAONE 4",
                               .describe = describe_exaone4,
                               .hugging_face = {.classes = kExaone4Classes, .tensors = kExaone4Tensors}};

}  // namespace wick
