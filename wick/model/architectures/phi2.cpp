// Phi 1.5 and 2: attention and a feed-forward part without a gate in parallel behind one layer norm; biases everywhere, the head's too.
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_phi2(const ModelConfig& config) {
  return config.decoder(
      [&](int64_t layer) { return config.parallel_layer(config.attention(layer), config.ungated_feed_forward(layer), NormKind::layer); },
      NormKind::layer);
}

constexpr std::string_view kPhi2Classes[] = {"PhiForCausalLM"};
constexpr ConfigRow kPhi2Config[] = {
    {"layer_norm_eps", ConfigRow::Use::read, "attention.layer_norm_epsilon"},
    {"qk_layernorm", ConfigRow::Use::only_value, {}, 0},
};
constexpr TensorRow kPhi2Tensors[] = {
    {"model.final_layernorm.weight", "output_norm.weight"},
    {"model.final_layernorm.bias", "output_norm.bias"},
    {"model.layers.{}.self_attn.dense.weight", "blk.{}.attn_output.weight"},
    {"model.layers.{}.self_attn.dense.bias", "blk.{}.attn_output.bias"},
    {"model.layers.{}.mlp.fc1.weight", "blk.{}.ffn_up.weight"},
    {"model.layers.{}.mlp.fc1.bias", "blk.{}.ffn_up.bias"},
    {"model.layers.{}.mlp.fc2.weight", "blk.{}.ffn_down.weight"},
    {"model.layers.{}.mlp.fc2.bias", "blk.{}.ffn_down.bias"},
};

}  // namespace

const Architecture kPhi2 = {
    .name = "phi2",
    .models = "Phi 1.5, Phi 2",
    .describe = describe_phi2,
    .activation = nn::ActivationKind::new_gelu,
    .hugging_face = {.classes = kPhi2Classes, .config = kPhi2Config, .tensors = kPhi2Tensors, .usual_rotary_factor = 0.5}};

}  // namespace wick
