// Gemma 2: norms before and after each part, softcaps of scores and logits, a window in every second layer (Gemma Team 2024).
#include <cmath>

#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

// What files mean that do not say otherwise: those of the first converters, and transformers' defaults.
constexpr int64_t kDefaultWindow = 4096;
constexpr double kDefaultAttentionCap = 50, kDefaultLogitCap = 30;
// The only model whose scores are scaled by the width of all heads, which GGUF files do not say, has so many layers.
constexpr int64_t kGemma2LayersOf27B = 46;

DecoderSpec describe_gemma2(const ModelConfig& config) {
  ModelConfig own = config;
  if (!config.keys.has("attention.sliding_window")) own.window = kDefaultWindow;
  if (own.windowed.empty()) {
    for (int64_t layer = 0; layer < own.layers; ++layer) own.windowed.push_back(layer % 2 == 0);
  }
  if (own.attention_scale == 0 && own.layers == kGemma2LayersOf27B) {
    own.attention_scale = 1 / std::sqrt(static_cast<double>(own.hidden_size) / static_cast<double>(own.heads));
  }
  DecoderSpec spec = own.decoder([&](int64_t layer) {
    AttentionSpec attention = own.attention(layer);
    attention.softcap = own.cap_or("attn_logit_softcapping", kDefaultAttentionCap);
    LayerSpec made = own.layer(std::move(attention), own.feed_forward(layer));
    made.blocks[0].post_norm = own.norm("post_attention_norm");
    made.blocks[1].post_norm = own.norm("post_ffw_norm");
    return made;
  });
  spec.embedding_scale = std::sqrt(static_cast<float>(own.hidden_size));
  spec.logit_softcap = own.cap_or("final_logit_softcapping", kDefaultLogitCap);
  return spec;
}

constexpr KeyRule kGemma2Keys[] = {{"attn_logit_softcapping"}, {"final_logit_softcapping"}};
constexpr std::string_view kGemma2Classes[] = {"Gemma2ForCausalLM"};
constexpr ConfigRow kGemma2Config[] = {
    {"hidden_act", ConfigRow::Use::harmless},  // hidden_activation has taken its place
    {"hidden_activation", ConfigRow::Use::read, "hidden_act"},
    {"attn_logit_softcapping", ConfigRow::Use::zero_if_null, "attn_logit_softcapping"},
    {"final_logit_softcapping", ConfigRow::Use::zero_if_null, "final_logit_softcapping"},
};
constexpr TensorRow kGemma2Tensors[] = {
    {"model.layers.{}.post_attention_layernorm.weight", "blk.{}.post_attention_norm.weight"},
    {"model.layers.{}.pre_feedforward_layernorm.weight", "blk.{}.ffn_norm.weight"},
    {"model.layers.{}.post_feedforward_layernorm.weight", "blk.{}.post_ffw_norm.weight"},
};

}  // namespace

const Architecture kGemma2 = {
    .name = "gemma2",
    .models = "Gemma 2",
    .describe = describe_gemma2,
    .activation = nn::ActivationKind::gelu_pytorch_tanh,
    .keys = kGemma2Keys,
    .hugging_face = {
        .classes = kGemma2Classes, .config = kGemma2Config, .tensors = kGemma2Tensors, .tied_by_default = true, .norm_offset = 1}};

}  // namespace wick
