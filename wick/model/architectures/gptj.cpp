// GPT-J: attention and a feed-forward part without a gate in parallel behind one layer norm, interleaved pairs in a part of each head
// (Wang & Komatsuzaki 2021).
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_gptj(const ModelConfig& config) {
  return config.decoder(
      [&](int64_t layer) { return config.parallel_layer(config.attention(layer), config.ungated_feed_forward(layer), NormKind::layer); },
      NormKind::layer);
}

constexpr std::string_view kGptJClasses[] = {"GPTJForCausalLM"};
constexpr ConfigRow kGptJConfig[] = {
    {"n_embd", ConfigRow::Use::read, "embedding_length"},
    {"n_layer", ConfigRow::Use::read, "block_count"},
    {"n_head", ConfigRow::Use::read, "attention.head_count"},
    {"n_inner", ConfigRow::Use::read, "feed_forward_length"},
    {"n_positions", ConfigRow::Use::read, "context_length"},
    {"rotary_dim", ConfigRow::Use::read, "rope.dimension_count"},
    {"rotary", ConfigRow::Use::only_value, {}, 1},
    {"activation_function", ConfigRow::Use::read, "hidden_act"},
    {"layer_norm_epsilon", ConfigRow::Use::read, "attention.layer_norm_epsilon"},
    {"scale_attn_weights", ConfigRow::Use::only_value, {}, 1},
    {"summary_activation", ConfigRow::Use::harmless},
};
constexpr TensorRow kGptJTensors[] = {
    {"transformer.wte.weight", "token_embd.weight"},
    {"transformer.ln_f.weight", "output_norm.weight"},
    {"transformer.ln_f.bias", "output_norm.bias"},
    {"transformer.h.{}.ln_1.weight", "blk.{}.attn_norm.weight"},
    {"transformer.h.{}.ln_1.bias", "blk.{}.attn_norm.bias"},
    {"transformer.h.{}.attn.q_proj.weight", "blk.{}.attn_q.weight"},
    {"transformer.h.{}.attn.k_proj.weight", "blk.{}.attn_k.weight"},
    {"transformer.h.{}.attn.v_proj.weight", "blk.{}.attn_v.weight"},
    {"transformer.h.{}.attn.out_proj.weight", "blk.{}.attn_output.weight"},
    {"transformer.h.{}.mlp.fc_in.weight", "blk.{}.ffn_up.weight"},
    {"transformer.h.{}.mlp.fc_in.bias", "blk.{}.ffn_up.bias"},
    {"transformer.h.{}.mlp.fc_out.weight", "blk.{}.ffn_down.weight"},
    {"transformer.h.{}.mlp.fc_out.bias", "blk.{}.ffn_down.bias"},
    {"transformer.h.{}.attn.bias", ""},  // the causal mask
    {"transformer.h.{}.attn.masked_bias", ""},
};

}  // namespace

const Architecture kGptJ = {
    .name = "gptj",
    .models = "GPT-J",
    .describe = describe_gptj,
    .gguf_rope = RopeStyle::interleaved,
    .activation = nn::ActivationKind::new_gelu,
    .hugging_face = {
        .classes = kGptJClasses, .config = kGptJConfig, .tensors = kGptJTensors, .rope = RopeStyle::interleaved, .inner_multiple = 4}};

}  // namespace wick
