// GPT-NeoX and Pythia: layer norms with biases, a RoPE of a part of each head, a feed-forward part without a gate, in parallel to attention
// behind a norm of its own (Black et al. 2022).
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_gptneox(const ModelConfig& config) {
  const bool parallel = config.keys.find_flag("use_parallel_residual").value_or(true);
  return config.decoder(
      [&](int64_t layer) {
        if (!parallel) return config.layer(config.attention(layer), config.ungated_feed_forward(layer), NormKind::layer);
        LayerSpec made = config.parallel_layer(config.attention(layer), config.ungated_feed_forward(layer), NormKind::layer);
        made.blocks[0].norm.reset();
        made.blocks[0].parts[0].norm = config.norm("attn_norm", NormKind::layer);
        made.blocks[0].parts[1].norm = config.norm("ffn_norm", NormKind::layer);
        return made;
      },
      NormKind::layer);
}

constexpr KeyRule kGptNeoxKeys[] = {{"use_parallel_residual"}};
constexpr std::string_view kGptNeoxClasses[] = {"GPTNeoXForCausalLM"};
constexpr ConfigRow kGptNeoxConfig[] = {
    {"layer_norm_eps", ConfigRow::Use::read, "attention.layer_norm_epsilon"},
    {"use_parallel_residual", ConfigRow::Use::read, "use_parallel_residual"},
    {"rotary_emb_base", ConfigRow::Use::read, "rope.freq_base"},
    {"classifier_dropout", ConfigRow::Use::harmless},
};
constexpr TensorRow kGptNeoxTensors[] = {
    {"gpt_neox.embed_in.weight", "token_embd.weight"},
    {"gpt_neox.final_layer_norm.weight", "output_norm.weight"},
    {"gpt_neox.final_layer_norm.bias", "output_norm.bias"},
    {"embed_out.weight", "output.weight"},
    {"gpt_neox.layers.{}.input_layernorm.weight", "blk.{}.attn_norm.weight"},
    {"gpt_neox.layers.{}.input_layernorm.bias", "blk.{}.attn_norm.bias"},
    {"gpt_neox.layers.{}.post_attention_layernorm.weight", "blk.{}.ffn_norm.weight"},
    {"gpt_neox.layers.{}.post_attention_layernorm.bias", "blk.{}.ffn_norm.bias"},
    {"gpt_neox.layers.{}.attention.query_key_value.weight", "blk.{}.attn_qkv.weight"},
    {"gpt_neox.layers.{}.attention.query_key_value.bias", "blk.{}.attn_qkv.bias"},
    {"gpt_neox.layers.{}.attention.dense.weight", "blk.{}.attn_output.weight"},
    {"gpt_neox.layers.{}.attention.dense.bias", "blk.{}.attn_output.bias"},
    {"gpt_neox.layers.{}.mlp.dense_h_to_4h.weight", "blk.{}.ffn_up.weight"},
    {"gpt_neox.layers.{}.mlp.dense_h_to_4h.bias", "blk.{}.ffn_up.bias"},
    {"gpt_neox.layers.{}.mlp.dense_4h_to_h.weight", "blk.{}.ffn_down.weight"},
    {"gpt_neox.layers.{}.mlp.dense_4h_to_h.bias", "blk.{}.ffn_down.bias"},
    {"gpt_neox.layers.{}.attention.rotary_emb.inv_freq", ""},
    {"gpt_neox.layers.{}.attention.bias", ""},  // the causal mask
    {"gpt_neox.layers.{}.attention.masked_bias", ""},
};

}  // namespace

const Architecture kGptNeox = {.name = "gptneox",
                               .models = "GPT-NeoX, Pythia",
                               .describe = describe_gptneox,
                               .activation = nn::ActivationKind::gelu,
                               .keys = kGptNeoxKeys,
                               .hugging_face = {.classes = kGptNeoxClasses,
                                                .config = kGptNeoxConfig,
                                                .tensors = kGptNeoxTensors,
                                                .qkv_by_head = true,
                                                .usual_rotary_factor = 0.25}};

}  // namespace wick
