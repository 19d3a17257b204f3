// StarCoder 2: layer norms, biases everywhere, a feed-forward part without a gate, a window (Lozhkov et al. 2024).
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_starcoder2(const ModelConfig& config) {
  return config.decoder(
      [&](int64_t layer) { return config.layer(config.attention(layer), config.ungated_feed_forward(layer), NormKind::layer); },
      NormKind::layer);
}

constexpr std::string_view kStarCoder2Classes[] = {"Starcoder2ForCausalLM"};
constexpr ConfigRow kStarCoder2Config[] = {
    {"norm_epsilon", ConfigRow::Use::read, "attention.layer_norm_epsilon"},
    {"use_bias", ConfigRow::Use::harmless},  // the tensors tell
    {"embedding_dropout", ConfigRow::Use::harmless},
    {"residual_dropout", ConfigRow::Use::harmless},
};
constexpr TensorRow kStarCoder2Tensors[] = {
    {"model.layers.{}.mlp.c_fc.weight", "blk.{}.ffn_up.weight"},
    {"model.layers.{}.mlp.c_fc.bias", "blk.{}.ffn_up.bias"},
    {"model.layers.{}.mlp.c_proj.weight", "blk.{}.ffn_down.weight"},
    {"model.layers.{}.mlp.c_proj.bias", "blk.{}.ffn_down.bias"},
};

}  // namespace

const Architecture kStarCoder2 = {
    .name = "starcoder2",
    .models = "StarCoder 2",
    .describe = describe_starcoder2,
    .activation = nn::ActivationKind::gelu_pytorch_tanh,
    .hugging_face = {.classes = kStarCoder2Classes, .config = kStarCoder2Config, .tensors = kStarCoder2Tensors, .tied_by_default = true}};

}  // namespace wick
