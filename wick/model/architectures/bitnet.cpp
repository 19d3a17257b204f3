// BitNet (Ma et al. 2024, Wang et al. 2025): Llama with ternary weights and two more norms a layer. llama.cpp runs its first models as
// "bitnet"; the fork of it that Microsoft publishes runs the later ones, BitNet b1.58 2B4T among them, under the other two names, with
// squared ReLU.
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_bitnet(const ModelConfig& config) {
  return config.decoder([&](int64_t layer) {
    AttentionSpec attention = config.attention(layer);
    attention.sub_norm = config.norm("attn_sub_norm");
    FeedForwardSpec feed_forward = config.feed_forward(layer);
    feed_forward.sub_norm = config.norm("ffn_sub_norm");
    return config.layer(std::move(attention), std::move(feed_forward));
  });
}

constexpr std::string_view kBitNetClasses[] = {"BitNetForCausalLM"};
constexpr TensorRow kBitNetTensors[] = {
    {"model.layers.{}.self_attn.attn_sub_norm.weight", "blk.{}.attn_sub_norm.weight"},
    {"model.layers.{}.mlp.ffn_sub_norm.weight", "blk.{}.ffn_sub_norm.weight"},
};

}  // namespace

// llama.cpp knows the name "bitnet" alone, which folders are converted to; their activation is a key of its own.
const Architecture kBitNet = {.name = "bitnet",
                              .models = "BitNet b1.58",
                              .describe = describe_bitnet,
                              .scaled_feed_forward = true,
                              .hugging_face = {.classes = kBitNetClasses, .tensors = kBitNetTensors, .tied_by_default = true}};
const Architecture kBitNet25 = {.name = "bitnet-25",
                                .models = "BitNet b1.58 2B4T",
                                .describe = describe_bitnet,
                                .activation = nn::ActivationKind::relu2,
                                .scaled_feed_forward = true};
const Architecture kBitNetB158 = {.name = "bitnet-b1.58",
                                  .models = "BitNet b1.58 2B4T",
                                  .describe = describe_bitnet,
                                  .activation = nn::ActivationKind::relu2,
                                  .scaled_feed_forward = true};

}  // namespace wick
